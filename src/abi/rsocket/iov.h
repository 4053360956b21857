/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Iteration over an array of struct iovec. */
#ifndef ADV_ABI_RSOCKET_IOV_H
#define ADV_ABI_RSOCKET_IOV_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

struct adv_rs_iov {
	const struct iovec *next;
	size_t skip; /* bytes of *next that are already done */
	size_t left; /* bytes left in the whole array */
};

/* 0; or -1 and errno as readv(2): EINVAL for too many entries or bytes. */
static inline int adv_rs_iov_start(struct adv_rs_iov *v, const struct iovec *iov, size_t count)
{
	*v = (struct adv_rs_iov){.next = iov};
	if (count > IOV_MAX) {
		errno = EINVAL;
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > SSIZE_MAX - v->left) {
			errno = EINVAL;
			return -1;
		}
		v->left += iov[i].iov_len;
	}
	return 0;
}

/* Returns the address of the next contiguous run of at most n bytes; *run is its length. n is at
 * most v->left. */
static inline void *adv_rs_iov_run(struct adv_rs_iov *v, size_t n, size_t *run)
{
	void *p;

	while (v->skip == v->next->iov_len) {
		v->next++;
		v->skip = 0;
	}
	*run = v->next->iov_len - v->skip;
	if (*run > n)
		*run = n;
	p = (uint8_t *)v->next->iov_base + v->skip;
	v->skip += *run;
	v->left -= *run;
	return p;
}

/* Copies the next n bytes from the array; n is at most v->left. */
static inline void adv_rs_iov_take(struct adv_rs_iov *v, void *to, size_t n)
{
	for (size_t run; n > 0; n -= run) {
		const void *p = adv_rs_iov_run(v, n, &run);

		memcpy(to, p, run);
		to = (uint8_t *)to + run;
	}
}

/* Copies n bytes into the array; n is at most v->left. */
static inline void adv_rs_iov_put(struct adv_rs_iov *v, const void *from, size_t n)
{
	for (size_t run; n > 0; n -= run) {
		void *p = adv_rs_iov_run(v, n, &run);

		memcpy(p, from, run);
		from = (const uint8_t *)from + run;
	}
}

#endif
