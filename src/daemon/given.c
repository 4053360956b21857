/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon/given.h"

#include <string.h>
#include <unistd.h>

void adv_given_close(int fd)
{
	const struct linger at_once = {.l_onoff = 0};

	if (fd < 0)
		return;
	/* ours may be its last copy, and SO_LINGER its owner's choice */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

int adv_given_take(struct msghdr *msg)
{
	int kept = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = 0;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (kept < 0)
				kept = fd;
			else
				adv_given_close(fd);
		}
	}
	return kept;
}
