/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main() for a fuzz target without a fuzzer: runs every file named, and every file below the folders named, through it.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int one_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t n = 0, cap = 0, got;

	if (!f) {
		perror(path);
		return 1;
	}
	do {
		if (n == cap) {
			uint8_t *more = realloc(data, cap = cap * 2 + 4096);

			if (!more)
				abort();
			data = more;
		}
		got = fread(data + n, 1, cap - n, f);
		n += got;
	} while (got);
	fclose(f);
	/* a copy of the exact size: a read behind its end is seen */
	uint8_t *exact = malloc(n ? n : 1);

	if (!exact)
		abort();
	memcpy(exact, data, n);
	free(data);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

static int below(const char *path, unsigned long *files)
{
	struct dirent **names;
	struct stat st;
	int n, bad = 0;

	if (stat(path, &st) < 0) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		++*files;
		return one_file(path);
	}
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char sub[4096];

		if (names[i]->d_name[0] != '.' &&
		    snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name) < (int)sizeof(sub))
			bad |= below(sub, files);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return bad || n < 0;
}

int main(int argc, char **argv)
{
	unsigned long files = 0;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= below(argv[i], &files);
	printf("%lu inputs\n", files);
	return bad || !files;
}
