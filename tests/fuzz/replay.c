/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A main for fuzz targets that are built without libFuzzer: runs every file of the folders (or files) named, in order of
 * their paths. An input may take REPLAY_SECONDS; one that takes longer ends the program, as a crash does, and the last
 * line printed names it.
 */
#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLAY_SECONDS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int replay(const char *path)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got;

	printf("replay %s\n", path);
	fflush(stdout);
	if (!in) {
		perror(path);
		return 1;
	}
	do {
		if (size == room) {
			room = room ? 2 * room : 4096;
			data = realloc(data, room);
			if (!data)
				abort();
		}
		got = fread(data + size, 1, room - size, in);
		size += got;
	} while (got);
	fclose(in);

	/* An allocation of the exact size, so that a read behind its end is seen. */
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	free(data);
	alarm(REPLAY_SECONDS);
	LLVMFuzzerTestOneInput(exact, size);
	alarm(0);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	FTS *tree;
	FTSENT *e;
	int failed = 0, nr = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
		return 2;
	}
	tree = fts_open(argv + 1, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	if (!tree) {
		perror(argv[0]);
		return 1;
	}
	while ((e = fts_read(tree))) {
		if (e->fts_info == FTS_F) {
			failed |= replay(e->fts_path);
			nr++;
		} else if (e->fts_info == FTS_ERR || e->fts_info == FTS_NS || e->fts_info == FTS_DNR) {
			fprintf(stderr, "%s: %s\n", e->fts_path, strerror(e->fts_errno));
			failed = 1;
		}
	}
	fts_close(tree);
	printf("%d inputs\n", nr);
	return failed || !nr;
}
