/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

void *adv_sealed_make(const char *name, size_t size, int *fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	int saved;
	void *p;

	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	if (ftruncate(*fd, (off_t)size) == 0) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		/* This mapping stays writable. Later mappings can only be read-only. */
		if (p != MAP_FAILED && fcntl(*fd, F_ADD_SEALS, seals) == 0)
			return p;
	}
	saved = errno;
	close(*fd);
	*fd = -1;
	errno = saved;
	return NULL;
}

bool adv_sealed_copy(int fd, size_t size, void *to, size_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)size)
		return false;
	p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return false;
	memcpy(to, p, len);
	munmap(p, len);
	return true;
}
