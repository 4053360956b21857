/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two shared-memory links: see shm_pair.h. */
#include "shm_pair.h"

#include <stdlib.h>
#include <unistd.h>

uint64_t shm_pair_now = 1;

static uint64_t clock_of_test(void)
{
	return shm_pair_now;
}

static struct adv_link *open_shm(const char *address, uint32_t qpn_first)
{
	const struct adv_udp_address own[] = {{gid_of("127.0.0.1"), 1}, {gid_of("::1"), 1}};
	struct adv_link *udp = open_link_for(address, qpn_first, ADV_SLOT_QPNS), *link;

	assert_int_equal(adv_udp_set_addresses(udp, own, 2), 0);
	link = adv_shm_create(udp, clock_of_test);
	assert_non_null(link);
	return link;
}

int shm_pair_share(struct pair *p)
{
	int fd = adv_shm_pair_make(RING_SIZE);
	struct adv_shm_pair of_a = {dup(fd), RING_SIZE, 0, 0};
	struct adv_shm_pair of_b = {dup(fd), RING_SIZE, 1, 0};

	assert_int_equal(adv_shm_attach(p->a, SLOT_B, &of_a), 0);
	assert_int_equal(adv_shm_attach(p->b, SLOT_A, &of_b), 0);
	return fd;
}

void shm_pair_attach(struct pair *p)
{
	close(shm_pair_share(p));
}

int shm_pair_make(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->a = open_shm("127.0.0.1", adv_qpn_of_slot(SLOT_A));
	p->b = open_shm("127.0.0.2", adv_qpn_of_slot(SLOT_B));
	path_between(&p->to_b, "127.0.0.1", "127.0.0.2", 0xc001);
	path_between(&p->to_a, "127.0.0.2", "127.0.0.1", 0xc001);
	*state = p;
	return 0;
}

int shm_pair_end(void **state)
{
	struct pair *p = *state;

	if (p->a)
		close_link(p->a);
	close_link(p->b);
	free(p);
	return 0;
}
