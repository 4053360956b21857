/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The environment of a program that `adverb run` or `adverb check` starts. */
#ifndef ADV_CLI_COMMAND_ENVIRONMENT_H
#define ADV_CLI_COMMAND_ENVIRONMENT_H

#include <stdbool.h>

/* Finds the folder of the libraries: lib/ beside this program in a build folder, then the folder at
 * the same place relative to this program as in an installed tree, then the installed folder.
 * folder: PATH_MAX bytes. False: none has the libraries; `folder` is then the installed folder. */
bool adv_cli_find_libraries(char *folder);

/* Puts the folder first into LD_LIBRARY_PATH and keeps the other folders. 0, or -1 with errno. */
int adv_cli_set_library_path(const char *folder);

/*
 * Preloads a library of the folder after those that are already in LD_PRELOAD; nothing if the
 * folder does not have it. If the path contains a separator of LD_PRELOAD, only the file name is
 * used; the dynamic linker finds the file. A program built with the address sanitizer refuses to
 * start if a preloaded library comes before the sanitizer's. ASAN_OPTIONS disables this check. The
 * order does no harm, because Adverb's libraries pass each call on. 0, or -1 with errno.
 */
int adv_cli_preload(const char *folder, const char *library);

#endif
