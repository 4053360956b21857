/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a fuzz target with the files of the given folders. Each file is run whole and cut
 * short at up to CUTS lengths. With this program the corpus is a test for any compiler. The first
 * argument may be the number of cuts.
 */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX 65536
#define CUTS	  512

static size_t cuts = CUTS;

/* The target gets a copy of exactly this size, so that a sanitizer detects a read behind it. */
static void run_target(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void replay_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t size, cut, step;

	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	step = size / cuts + 1;
	for (cut = 0; cut < size; cut += step)
		run_target(data, cut);
	run_target(data, size);
}

/* Returns the number of files. */
static unsigned replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[1024];
	unsigned files = 0;

	if (!dir) {
		perror(folder);
		exit(1);
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		replay_file(path);
		files++;
	}
	closedir(dir);
	return files;
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc > 2 && atoi(argv[1]) > 0)
		cuts = (size_t)atoi(argv[i++]);
	for (; i < argc; i++) {
		unsigned files = replay_folder(argv[i]);

		printf("%s: %u files\n", argv[i], files);
		if (files == 0)
			return 1;
	}
	return argc > 1 ? 0 : 1;
}
