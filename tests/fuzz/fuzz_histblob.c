/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buckets of a histogram as a database holds them: 32 bytes of exact figures, then the blob. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/hist_blob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wi_bytes_in in = { .at = data, .nr = size };
	struct wi_bytes_out again = { 0 };
	struct wi_hist exact = { 0 }, h;
	const char *why = NULL;
	uint64_t count = 0;

	exact.count = wi_bytes_get_u64(&in);
	exact.sum_ns = wi_bytes_get_u64(&in);
	exact.min_ns = wi_bytes_get_u64(&in);
	exact.max_ns = wi_bytes_get_u64(&in);
	if (in.failed || size > 1 << 20)
		return 0;
	bool ok = wi_hist_blob_get(&h, data + in.pos, size - in.pos, &exact, &why);

	must(ok == !why);
	if (!ok) {
		must(!h.bucket && !h.count);
		return 0;
	}
	for (uint32_t i = 0; i < h.nr; i++)
		count += h.bucket[i];
	must(count == exact.count && h.nr <= WI_HIST_BUCKETS);
	must(!h.count || wi_hist_quantile(&h, 1) <= exact.max_ns);
	/* There is one way to write buckets. */
	wi_hist_blob_put(&again, &h);
	must(!again.failed && again.nr == size - in.pos && (!again.nr || !memcmp(again.at, data + in.pos, again.nr)));
	free(again.at);
	wi_hist_fini(&h);
	return 0;
}
