/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segment size of segmented sends. Control data with a message costs more than a socket option,
 * but changing the option costs more than control data. So the option is set after some consecutive
 * messages that needed the same size. Messages that need another size carry control data. A message
 * that is not longer than the option needs none, because the kernel does not divide it.
 *
 * Some kernels reject even short messages on a socket with the option: if the size exceeds the MTU,
 * or if the route cannot carry segments. After a rejection the option stays off for longer.
 */
#include "runtime/link/udp_internal.h"

#include "base/sys.h"

#define PATIENCE_FIRST	 16 /* messages */
#define PATIENCE_LONGEST 4096

static void set_option(struct udp_segment *s, int fd, uint16_t len)
{
	int value = len;

	if (adv_sys_setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)) == 0)
		s->len = len;
	s->streak = 0;
}

void adv_udp_segment_learn(struct udp_segment *s, int fd, uint16_t segment_len)
{
	if (!s->patience)
		s->patience = PATIENCE_FIRST;
	s->streak = s->wish == segment_len ? s->streak + 1 : 1;
	s->wish = segment_len;
	if (s->streak > s->patience)
		set_option(s, fd, segment_len);
}

bool adv_udp_segment_reset(struct udp_segment *s, int fd)
{
	if (!s->len)
		return false;
	set_option(s, fd, 0);
	s->len = 0;
	if (s->patience < PATIENCE_LONGEST)
		s->patience *= 2;
	return true;
}
