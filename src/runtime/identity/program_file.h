/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of a program that is to be executed. Raw system calls, and memory of the stack only:
 * safe in a child of vfork(). */
#ifndef ADV_RUNTIME_IDENTITY_PROGRAM_FILE_H
#define ADV_RUNTIME_IDENTITY_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>

/* Finds the file that execvp() would execute. */
bool adv_program_find(const char *name, char path[PATH_MAX]);

/* True if the file is a program without a dynamic linker. */
bool adv_program_is_static(int fd);

/* True if the first 64 MiB of the file have this text, of at most 63 bytes. */
bool adv_program_has_text(int fd, const char *text);

#endif
