/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/sys.h"

static bool is_sealed(int fd, size_t len)
{
	int seals = adv_sys_fcntl(fd, F_GET_SEALS, 0); /* negative: the file cannot be sealed */
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && syscall(SYS_fstat, fd, &st) == 0 &&
	       st.st_size >= (off_t)len;
}

void *adv_control_memory_map(int fd, size_t len, int prot)
{
	void *p;

	if (!is_sealed(fd, len)) {
		errno = EPROTO;
		return NULL;
	}
	p = mmap(NULL, len, prot, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

bool adv_control_memory_replace(void *at, int fd, size_t len, int prot)
{
	return is_sealed(fd, len) && mmap(at, len, prot, MAP_SHARED | MAP_FIXED, fd, 0) == at;
}
