/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of `adverb exporter`: for node_exporter's textfile collector, and a tree that its
 * collectors read in place of /sys. */
#ifndef ADV_CLI_EXPORTER_FILES_H
#define ADV_CLI_EXPORTER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/observe/sample.h"

/* Replaces a file atomically: readers see the old or the new text. The file's folder must be
 * writable. If it fails, prints an error and returns false. */
bool adv_exporter_write_text(const char *path, const char *text, size_t len);

/* Opens the folder of a tree, and creates it if it does not exist. Returns a descriptor. If the
 * folder has other contents than such a tree, or cannot be written, prints an error and returns
 * -1. */
int adv_exporter_open_tree(const char *path);

/* Writes the tree: sys/class/infiniband as under `adverb run`, and links to the rest of /sys. If it
 * fails, prints an error and returns false. */
bool adv_exporter_write_tree(int fd, const struct adv_sample *s);

#endif
