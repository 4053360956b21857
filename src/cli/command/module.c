/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command/environment.h"

const void *adv_module_load(const char *who, const struct adv_module *m)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];
	const void *object = NULL;
	void *handle;

	(void)adv_cli_find_libraries(folder);
	snprintf(path, sizeof(path), "%s/%s", folder, m->file);
	if (access(path, F_OK) != 0) {
		fprintf(stderr,
			"%s: no file %s: Adverb was built without %s; install it (Debian: %s) and "
			"build Adverb again\n",
			who, path, m->library, m->debian_build);
		return NULL;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		object = dlsym(handle, m->symbol);
	if (!object)
		fprintf(stderr, "%s: needs %s: %s; install it (Debian: apt install %s)\n", who,
			m->library, dlerror(), m->debian);
	return object;
}
