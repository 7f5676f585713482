/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bundles as the writer gets them from a worker that may have gone mad. The checksum is made right, so that what is
 * behind it is reached: the input is the content, from the hash of the trace on.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		__builtin_trap();
}

/* Head and checksum around a content. */
static uint8_t *wrap(const uint8_t *data, size_t size, size_t *nr)
{
	uint8_t hash[WI_SHA256_BYTES], *p = malloc(size + WI_BUNDLE_HEAD + 8);

	*nr = size + WI_BUNDLE_HEAD + 8;
	memcpy(p, "wibundl1", 8);
	for (int i = 0; i < 8; i++)
		p[8 + i] = (uint8_t)((uint64_t)*nr >> 8 * i);
	memcpy(p + WI_BUNDLE_HEAD, data, size);
	wi_sha256(p, size + WI_BUNDLE_HEAD, hash);
	memcpy(p + WI_BUNDLE_HEAD + size, hash, 8);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wi_bytes_out one = { 0 }, two = { 0 };
	struct wi_bundle a, b;
	struct wi_err err = { 0 };
	size_t nr;

	if (size > 1 << 20)
		return 0;
	uint8_t *bytes = wrap(data, size, &nr);

	must(wi_bundle_init(&a, &err) && wi_bundle_init(&b, &err));
	bool ok = wi_bundle_decode(&a, bytes, nr, &err);

	must(ok ? !err.code : err.code && err.msg[0]);
	/* What was accepted is written in one form, and reads back as it was. */
	if (ok) {
		must(wi_bundle_encode(&a, &one, &err) && wi_bundle_decode(&b, one.at, one.nr, &err) &&
		     wi_bundle_encode(&b, &two, &err));
		must(one.nr == two.nr && !memcmp(one.at, two.at, one.nr));
	}
	free(one.at);
	free(two.at);
	wi_bundle_fini(&a);
	wi_bundle_fini(&b);
	free(bytes);
	return 0;
}
