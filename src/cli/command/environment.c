/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_file(const char *folder, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, R_OK) == 0;
}

bool adv_cli_find_libraries(char *folder)
{
	static const char *const beside[] = {"lib", ADV_LIBRARY_FROM_BIN};
	char own[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[n > 0 ? n : 0] = 0;
	slash = strrchr(own, '/');
	for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
		slash[1] = 0;
		snprintf(path, sizeof(path), "%s%s", own, beside[i]);
		if (realpath(path, folder) && is_file(folder, "libibverbs.so.1"))
			return true;
	}
	snprintf(folder, PATH_MAX, "%s", ADV_LIBRARY_DIR);
	return is_file(folder, "libibverbs.so.1");
}

int adv_cli_set_library_path(const char *folder)
{
	const char *before = getenv("LD_LIBRARY_PATH");
	char *path;
	int error;

	if (!before || !*before)
		return setenv("LD_LIBRARY_PATH", folder, 1);
	if (asprintf(&path, "%s:%s", folder, before) < 0)
		return -1;
	error = setenv("LD_LIBRARY_PATH", path, 1);
	free(path);
	return error;
}

/* True if the list has this entry. Each entry of the list ends with a character of `ends`. */
static bool has_entry(const char *list, const char *entry, const char *ends)
{
	size_t len = strlen(entry);

	for (const char *p = list; (p = strstr(p, entry)); p++)
		if ((p == list || strchr(ends, p[-1])) && (!p[len] || strchr(ends, p[len])))
			return true;
	return false;
}

/* Appends an entry to a list in the environment if the list does not have it. */
static int append_to_list(const char *variable, const char *entry, const char *ends)
{
	const char *before = getenv(variable);
	char *all;
	int error;

	if (!before || !*before)
		return setenv(variable, entry, 1);
	if (has_entry(before, entry, ends))
		return 0;
	if (asprintf(&all, "%s:%s", before, entry) < 0)
		return -1;
	error = setenv(variable, all, 1);
	free(all);
	return error;
}

int adv_cli_preload(const char *folder, const char *library)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, library);
	if (access(path, R_OK) < 0)
		return 0;
	if (append_to_list("LD_PRELOAD", strpbrk(path, " :") ? library : path, " :") < 0)
		return -1;
	return append_to_list("ASAN_OPTIONS", "verify_asan_link_order=0", ":");
}
