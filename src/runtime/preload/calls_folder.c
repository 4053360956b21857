/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listing folders: opendir(3), scandir(3), glob(3). */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>

#include "runtime/preload/lookup.h"

ADV_INTERPOSE DIR *opendir(const char *path)
{
	DIR *(*call)(const char *) = adv_next(ADV_NEXT("opendir"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);
	DIR *folder = call(there);

	if (folder)
		adv_lookup_note_open(dirfd(folder), AT_FDCWD, path, there, true);
	return folder;
}

ADV_INTERPOSE int scandir(const char *path, struct dirent ***list,
			  int (*wanted)(const struct dirent *),
			  int (*compare)(const struct dirent **, const struct dirent **))
{
	int (*call)(const char *, struct dirent ***, int (*)(const struct dirent *),
		    int (*)(const struct dirent **, const struct dirent **)) =
		adv_next(ADV_NEXT("scandir"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return call(there, list, wanted, compare);
}

ADV_INTERPOSE int scandir64(const char *path, struct dirent64 ***list,
			    int (*wanted)(const struct dirent64 *),
			    int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	int (*call)(const char *, struct dirent64 ***, int (*)(const struct dirent64 *),
		    int (*)(const struct dirent64 **, const struct dirent64 **)) =
		adv_next(ADV_NEXT("scandir64"));
	const char *there = ADV_LOOKUP_PATH(AT_FDCWD, path, ADV_LOOKUP_CACHED);

	return call(there, list, wanted, compare);
}

static int call_glob(struct adv_next *next, const char *pattern, int flags,
		     int (*on_error)(const char *, int), glob_t *g)
{
	int (*call)(const char *, int, int (*)(const char *, int), glob_t *) = adv_next(next);
	/* The program's own functions (gl_opendir ...) do not see the redirection. */
	const char *there = flags & GLOB_ALTDIRFUNC
				    ? pattern
				    : ADV_LOOKUP_PATH(AT_FDCWD, pattern, ADV_LOOKUP_NAME);
	size_t first = flags & GLOB_DOOFFS ? g->gl_offs : 0;
	int result = call(there, flags, on_error, g);

	if (there != pattern && result == 0)
		for (size_t i = 0; i < g->gl_pathc; i++)
			adv_lookup_reverse(g->gl_pathv[first + i]);
	return result;
}

ADV_INTERPOSE int glob(const char *pattern, int flags, int (*on_error)(const char *, int),
		       glob_t *g)
{
	return call_glob(ADV_NEXT("glob"), pattern, flags, on_error, g);
}

ADV_INTERPOSE int glob64(const char *pattern, int flags, int (*on_error)(const char *, int),
			 glob64_t *g)
{
	return call_glob(ADV_NEXT("glob64"), pattern, flags, on_error, (glob_t *)g);
}
