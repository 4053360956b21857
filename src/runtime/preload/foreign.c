/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/foreign.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/identity/program_file.h"

/* A path that each libibverbs has. */
#define RDMA_CLASS "infiniband_verbs"

static const char *const libraries[] = {"libibverbs.so.1", "librdmacm.so.1"};

/* The loaded libraries of RDMA. */
struct found {
	char path[ADV_ARRAY_SIZE(libraries)][PATH_MAX]; /* empty: not loaded */
};

static int note_library(struct dl_phdr_info *info, size_t size, void *user)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;
	struct found *f = user;

	for (size_t i = 0; i < ADV_ARRAY_SIZE(libraries); i++)
		if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
			snprintf(f->path[i], PATH_MAX, "%s", info->dlpi_name);
	return 0;
}

/* Writes the folder of a file. False: the path has none. */
static bool write_folder(const char *path, char folder[PATH_MAX])
{
	char *slash;

	if (!path || snprintf(folder, PATH_MAX, "%s", path) >= PATH_MAX)
		return false;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	return slash != NULL;
}

/* Writes the folder of this library, which is that of Adverb's other libraries. */
static bool find_own_folder(char folder[PATH_MAX])
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)adv_foreign_check, &info) &&
	       write_folder(info.dli_fname, folder);
}

/* True if a file of the folder is the file of this path. */
static bool is_in_folder(const char *folder, const char *name, const char *path)
{
	char own[PATH_MAX];
	struct stat a, b;

	return snprintf(own, sizeof(own), "%s/%s", folder, name) < (int)sizeof(own) &&
	       syscall(SYS_newfstatat, AT_FDCWD, own, &a, 0) == 0 &&
	       syscall(SYS_newfstatat, AT_FDCWD, path, &b, 0) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* True if the loaded libraries are of another build of Adverb, which works, too: libibverbs has a
 * function of Adverb's, and librdmacm, if it is the library in question, is beside it. */
static bool is_of_another_build(const struct found *f, size_t library)
{
	void *verbs = f->path[0][0] ? dlopen(f->path[0], RTLD_LAZY | RTLD_NOLOAD) : NULL;
	bool is = verbs && dlsym(verbs, "adv_ibv_wait");
	char folder[PATH_MAX];

	if (verbs)
		dlclose(verbs);
	return is && write_folder(f->path[0], folder) &&
	       is_in_folder(folder, libraries[library], f->path[library]);
}

/* True if LD_LIBRARY_PATH does not have the folder. */
static bool is_path_changed(const char *folder)
{
	const char *folders = getenv("LD_LIBRARY_PATH");
	size_t len = strlen(folder);

	for (const char *p = folders; p && (p = strstr(p, folder)); p += len)
		if ((p == folders || p[-1] == ':') && (p[len] == ':' || !p[len]))
			return false;
	return true;
}

static void report_library(const char *folder, const char *name, const char *path)
{
	char own[PATH_MAX];
	struct stat st;

	snprintf(own, sizeof(own), "%.*s/%s", PATH_MAX - 32, folder, name);
	if (syscall(SYS_newfstatat, AT_FDCWD, own, &st, 0) != 0)
		adv_error("no device: this program uses %s, because %s does not exist: build or "
			  "install "
			  "it",
			  path, own);
	else if (is_path_changed(folder))
		adv_error(
			"no device: this program uses %s, because a wrapper has taken %s out of "
			"LD_LIBRARY_PATH: put it back, or start the program itself with adverb run",
			path, folder);
	else
		adv_error("no device: this program uses %s, because a DT_RPATH (readelf -d) or an "
			  "absolute path comes before LD_LIBRARY_PATH: adverb run sh -c "
			  "'LD_PRELOAD=$LD_PRELOAD:%s/libibverbs.so.1:%s/librdmacm.so.1 exec "
			  "PROGRAM' "
			  "makes it use Adverb's",
			  path, folder, folder);
}

void adv_foreign_check(void)
{
	static atomic_bool told;
	static struct found f; /* too large for the stack of some callers; under `busy` */
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	char folder[PATH_MAX];
	int saved = errno;

	if (atomic_load(&told) || !find_own_folder(folder) || atomic_flag_test_and_set(&busy))
		return;
	memset(&f, 0, sizeof(f));
	(void)dl_iterate_phdr(note_library, &f);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(libraries) && !atomic_load(&told); i++) {
		if (!f.path[i][0] || is_in_folder(folder, libraries[i], f.path[i]) ||
		    is_of_another_build(&f, i))
			continue;
		atomic_store(&told, true);
		report_library(folder, libraries[i], f.path[i]);
	}
	atomic_flag_clear(&busy);
	errno = saved;
}

void adv_foreign_check_program(const char *name, bool by_name)
{
	char path[PATH_MAX];
	int saved = errno, fd = -1;

	if (!by_name)
		fd = name ? adv_sys_open(name, O_RDONLY | O_CLOEXEC) : -1;
	else if (name && adv_program_find(name, path))
		fd = adv_sys_open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && adv_program_is_static(fd) && adv_program_has_text(fd, RDMA_CLASS))
		adv_error("no device: %s is statically linked, so it cannot use Adverb's "
			  "libraries: link "
			  "it dynamically",
			  name);
	if (fd >= 0)
		adv_sys_close(fd);
	errno = saved;
}
