/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/document.h"

void wi_document_begin(struct wi_json *j, FILE *out, const char *version)
{
	wi_json_init(j, out);
	wi_json_object(j, NULL);
	wi_json_string(j, "schema", "wakeif/1");
	wi_json_object_flat(j, "tool");
	wi_json_string(j, "name", "wakeif");
	wi_json_string(j, "version", version);
	wi_json_end_object(j);
}

void wi_document_histogram(struct wi_json *j, const struct wi_hist *h)
{
	wi_json_array_flat(j, "histogram");
	for (uint32_t i = 0; i < h->nr; i++) {
		if (!h->bucket[i])
			continue;
		wi_json_array_flat(j, NULL);
		wi_json_u64(j, NULL, wi_hist_lower_ns(i));
		wi_json_u64(j, NULL, wi_hist_width_ns(i));
		wi_json_u64(j, NULL, h->bucket[i]);
		wi_json_end_array(j);
	}
	wi_json_end_array(j);
}
