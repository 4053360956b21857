/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes files, folders and links below a folder, only where they differ from the existing ones. */
#ifndef ADV_RUNTIME_PRELOAD_FILES_H
#define ADV_RUNTIME_PRELOAD_FILES_H

#include <stdbool.h>

struct adv_files {
	int root;  /* descriptor of the folder */
	int error; /* the first error, or 0 */
};

/*
 * Paths are relative to the root; the parent folders must exist. After an error the functions do
 * nothing. A new file appears with its complete text. If the new text is not shorter, an existing
 * file is overwritten in place: processes that have the file open see the change, as in sysfs.
 * Otherwise a new file replaces it.
 */
void adv_files_folder(struct adv_files *f, const char *path);
void adv_files_link(struct adv_files *f, const char *path, const char *target);
void adv_files_text(struct adv_files *f, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Calls fn for each name in a folder except "." and "..". Does nothing if the folder does not
 * exist. */
void adv_files_list(int at, const char *path, void (*fn)(void *user, const char *name), void *user);

/* Removes each file and link of a folder for which `wanted` returns false. */
void adv_files_sweep(struct adv_files *f, const char *path,
		     bool (*wanted)(const void *user, const char *name), const void *user);

#endif
