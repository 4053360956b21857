/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing files, folders and links below a folder, only where they differ from what is there. */
#ifndef ADV_PRELOAD_FILES_H
#define ADV_PRELOAD_FILES_H

#include <stdbool.h>

struct adv_files {
	int root;  /* descriptor of the folder */
	int error; /* the first that happened, or 0 */
};

/*
 * Paths are relative to the root; the folders above must be there. After an error nothing more is
 * done. A file appears whole or not at all. One that is there already is written over in its place
 * where the new text is as long or longer, so that who has it open sees it, as in sysfs; else it
 * is replaced.
 */
void adv_files_folder(struct adv_files *f, const char *path);
void adv_files_link(struct adv_files *f, const char *path, const char *target);
void adv_files_text(struct adv_files *f, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Calls fn for each name in a folder but "." and ".."; nothing where there is no such folder. */
void adv_files_list(int at, const char *path, void (*fn)(void *user, const char *name), void *user);

/* Removes each file and link of a folder that `wanted` says is not. */
void adv_files_sweep(struct adv_files *f, const char *path,
		     bool (*wanted)(const void *user, const char *name), const void *user);

#endif
