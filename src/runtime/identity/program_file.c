/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADERS_MAX 64
#define SEARCHED    (64 << 20)
#define PIECE	    16384
#define OVERLAP	    64

static bool is_executable(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

bool adv_program_find(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_executable(path);
	for (const char *p = folders ? folders : "/bin:/usr/bin"; *p;) {
		size_t len = strcspn(p, ":");

		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, p, len ? "/" : "", name) <
			    PATH_MAX &&
		    is_executable(path))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

static long read_at(int fd, void *p, size_t len, uint64_t offset)
{
	return syscall(SYS_pread64, fd, p, len, (long)offset);
}

bool adv_program_is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr part[HEADERS_MAX];
	size_t want;

	if (read_at(fd, &head, sizeof(head), 0) != (long)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(part[0]) || head.e_phnum > HEADERS_MAX)
		return false;
	want = head.e_phnum * sizeof(part[0]);
	if (read_at(fd, part, want, head.e_phoff) != (long)want)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (part[i].p_type == PT_INTERP)
			return false;
	return true;
}

bool adv_program_has_text(int fd, const char *text)
{
	char piece[PIECE];
	long n;

	for (uint64_t at = 0; at < SEARCHED; at += PIECE - OVERLAP) {
		n = read_at(fd, piece, sizeof(piece), at);
		if (n <= 0)
			return false;
		if (memmem(piece, (size_t)n, text, strlen(text)))
			return true;
	}
	return false;
}
