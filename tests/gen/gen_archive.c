/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive from JSON documents, for tests:
 *   gen_archive DB [--full] [--paths] [--tag KEY=VALUE]... DOCUMENT[+DOCUMENT]...
 * Each argument is one trace, whose hash is that of its first document's text and whose path is that document's name;
 * the documents of an argument are those of one analysis. Tags hold for the arguments after them; "--tag none" drops
 * them. "gen_archive --schema" prints doc/schema.md. --paths prints the metrics' paths with what the catalog knows of
 * them, "unknown" where it does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/catalog.h"
#include "analyzer/store/schema.h"
#include "analyzer/store/select.h"
#include "analyzer/store/store.h"

struct options {
	enum wi_detail detail;
	struct wi_tag tag[32];
	size_t nr_tags;
};

static char *slurp(const char *path, size_t *nr)
{
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int c; in && out && (c = getc_unlocked(in)) != EOF;)
		putc_unlocked(c, out);
	if (!in || !out || ferror(in) || fclose(out)) {
		perror(path);
		exit(1);
	}
	fclose(in);
	*nr = size;
	return text;
}

static bool put(struct wi_store *store, char *names, const struct options *o, struct wi_err *err)
{
	struct wi_bundle b;
	bool ok = wi_bundle_init(&b, err), first = true;

	for (char *save = NULL, *name = strtok_r(names, "+", &save); ok && name; name = strtok_r(NULL, "+", &save)) {
		size_t nr;
		char *text = slurp(name, &nr);
		uint8_t hash[WI_SHA256_BYTES];

		wi_sha256(text, nr, hash);
		if (first)
			ok = wi_bundle_identify(&b, hash, nr, name, WAKEIF_VERSION, "{\"test\":true}", err);
		first = false;
		ok = ok && wi_bundle_add_document(&b, text, nr, o->detail, err);
		free(text);
	}
	for (size_t i = 0; ok && i < o->nr_tags; i++)
		ok = wi_bundle_tag(&b, o->tag[i].key, o->tag[i].value, err);
	ok = ok && wi_store_begin(store, err) && wi_store_put(store, &b, WI_PUT_MERGE, err) &&
	     wi_store_commit(store, err);
	wi_bundle_fini(&b);
	return ok;
}

static bool print_paths(struct wi_store *store, struct wi_err *err)
{
	struct wi_runs runs;
	struct wi_texts paths = { 0 };
	bool ok = wi_select_runs(store, NULL, &runs, err);

	if (ok && (ok = wi_select_metrics(store, &runs, NULL, &paths, err)))
		for (size_t i = 0; i < paths.nr; i++) {
			struct wi_metric_info info;
			bool known = wi_catalog_find(paths.text[i], &info);

			printf("%s\t%s\t%s\t%u\n", paths.text[i], known ? info.unit : "unknown",
			       wi_direction_name(info.direction), info.headline);
		}
	wi_texts_fini(&paths);
	wi_runs_fini(&runs);
	return ok;
}

int main(int argc, char **argv)
{
	struct wi_err err = { 0 };
	struct options o = { 0 };

	if (argc == 2 && !strcmp(argv[1], "--schema"))
		return !wi_schema_document(stdout) || fflush(stdout);
	struct wi_store *store = argc > 1 ? wi_store_open(argv[1], WI_STORE_CREATE, &err) : NULL;
	bool ok = store != NULL;

	for (int i = 2; ok && i < argc; i++) {
		char *equals;

		if (!strcmp(argv[i], "--full")) {
			o.detail = WI_DETAIL_FULL;
		} else if (!strcmp(argv[i], "--paths")) {
			ok = print_paths(store, &err);
		} else if (!strcmp(argv[i], "--tag") && i + 1 < argc && !strcmp(argv[i + 1], "none")) {
			o.nr_tags = 0;
			i++;
		} else if (!strcmp(argv[i], "--tag") && i + 1 < argc && o.nr_tags < 32 &&
			   (equals = strchr(argv[i + 1], '='))) {
			*equals = '\0';
			o.tag[o.nr_tags++] = (struct wi_tag){ argv[++i], equals + 1 };
		} else {
			ok = put(store, argv[i], &o, &err);
		}
	}
	ok = wi_store_close(store, &err) && ok;
	if (!ok)
		fprintf(stderr, "gen_archive: %s\n", err.msg[0] ? err.msg : "usage: gen_archive DB DOCUMENT...");
	return ok ? 0 : 1;
}
