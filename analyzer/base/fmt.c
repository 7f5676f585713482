/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/fmt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/utf8.h"

/* value in unit, three significant digits: 1.23, 12.3, 123; what rounds up to 1000 is left to the caller's next unit.
 */
static const char *three_digits(char *out, size_t size, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(out, size, "%.*f %s", decimals, value, unit);
	return out;
}

const char *wi_fmt_ns(char *out, size_t size, uint64_t ns)
{
	if (ns < 1000)
		snprintf(out, size, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		return three_digits(out, size, (double)ns / 1e3, "us");
	else if (ns < 999500000)
		return three_digits(out, size, (double)ns / 1e6, "ms");
	else
		return three_digits(out, size, (double)ns / 1e9, "s");
	return out;
}

const char *wi_fmt_count(char *out, size_t size, uint64_t n)
{
	snprintf(out, size, "%" PRIu64, n);
	return out;
}

const char *wi_fmt_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const unit[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes / 1e3;
	size_t i = 0;

	if (bytes < 1000) {
		snprintf(out, size, "%" PRIu64 " B", bytes);
		return out;
	}
	while (value >= 999.5 && i + 1 < sizeof(unit) / sizeof(*unit)) {
		value /= 1e3;
		i++;
	}
	return three_digits(out, size, value, unit[i]);
}

static const char *percent(char *out, size_t size, double fraction, bool none, bool all)
{
	double p = fraction * 100;

	if (!none && p < 0.05)
		snprintf(out, size, "<0.1 %%");
	else if (!all && p >= 99.95)
		snprintf(out, size, ">99.9 %%");
	else if (none || all)
		snprintf(out, size, "%.0f %%", p);
	else
		snprintf(out, size, "%.1f %%", p);
	return out;
}

const char *wi_fmt_share(char *out, size_t size, uint64_t part, uint64_t whole)
{
	if (!whole) {
		snprintf(out, size, "-");
		return out;
	}
	return percent(out, size, (double)part / (double)whole, part == 0, part == whole);
}

const char *wi_fmt_ratio(char *out, size_t size, uint64_t part, uint64_t whole)
{
	if (!whole)
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%.2f", (double)part / (double)whole);
	return out;
}

const char *wi_fmt_real(char *out, size_t size, double v)
{
	snprintf(out, size, "%.15g", v);
	return out;
}

const char *wi_fmt_stamp(char *out, size_t size, uint64_t ns, bool nanoseconds)
{
	uint64_t sec = ns / 1000000000, rest = ns % 1000000000;

	if (nanoseconds) {
		snprintf(out, size, "%" PRIu64 ".%09" PRIu64, sec, rest);
		return out;
	}
	rest = (rest + 500) / 1000;
	snprintf(out, size, "%" PRIu64 ".%06" PRIu64, sec + rest / 1000000, rest % 1000000);
	return out;
}

const char *wi_fmt_cpu(char *out, size_t size, uint32_t cpu)
{
	if (cpu == UINT32_MAX)
		snprintf(out, size, "[???]");
	else
		snprintf(out, size, "[%03" PRIu32 "]", cpu);
	return out;
}

size_t wi_fmt_char(char out[WI_FMT_CHAR_LEN], const char *s, size_t len, size_t *used)
{
	uint32_t cp;
	size_t w = 0;

	*used = wi_utf8_next(s, len, &cp);
	if (cp == WI_UTF8_INVALID || (cp < 0x80 && wi_utf8_unsafe(cp)))
		for (size_t k = 0; k < *used; k++)
			w += (size_t)snprintf(out + w, WI_FMT_CHAR_LEN - w, "\\x%02x", (unsigned char)s[k]);
	else if (wi_utf8_unsafe(cp))
		w = (size_t)snprintf(out, WI_FMT_CHAR_LEN, cp > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, cp);
	else if (cp == '\\')
		w = (size_t)snprintf(out, WI_FMT_CHAR_LEN, "\\\\");
	else
		memcpy(out, s, w = *used);
	return w;
}

const char *wi_fmt_name(char *out, size_t size, const char *name)
{
	size_t len = strlen(name), n = 0;

	if (!size)
		return out;
	for (size_t i = 0; i < len;) {
		char part[WI_FMT_CHAR_LEN];
		size_t used, w = wi_fmt_char(part, name + i, len - i, &used);

		if (n + w >= size)
			break;
		memcpy(out + n, part, w);
		n += w;
		i += used;
	}
	out[n] = '\0';
	return out;
}

const char *wi_fmt_task(char *out, size_t size, const char *comm, int32_t pid)
{
	char name[WI_FMT_NAME_LEN];

	if (pid < 0)
		snprintf(out, size, "unknown");
	else if (pid == 0)
		snprintf(out, size, "swapper:0");
	else
		snprintf(out, size, "%s:%" PRId32, wi_fmt_name(name, sizeof(name), comm ? comm : "<...>"), pid);
	return out;
}
