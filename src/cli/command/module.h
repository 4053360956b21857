/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Modules: parts of `adverb` that need a library which no other command needs. A module is loaded
 * when its command runs, so `adverb run` does not load that library, and everything else works
 * without it.
 */
#ifndef ADV_CLI_COMMAND_MODULE_H
#define ADV_CLI_COMMAND_MODULE_H

struct adv_module {
	const char *file;    /* file name, in the folder of Adverb's libraries */
	const char *symbol;  /* the object that the module exports */
	const char *library; /* the library that it needs, as its project spells it */
	const char *debian;  /* Debian's packages of the library: to run, to build */
	const char *debian_build;
};

/* Loads a module and returns the exported object. If that fails, prints an error that begins with
 * `who` and names the missing package, and returns NULL. */
const void *adv_module_load(const char *who, const struct adv_module *m);

#endif
