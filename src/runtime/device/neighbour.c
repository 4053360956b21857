/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/device/neighbour.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/reason.h"
#include "runtime/device/internal.h"
#include "runtime/link/port.h"

#define PATIENCE_NS (1000 * 1000000ull) /* as in Linux: rdma_addr_find_l2_eth_by_grh() */
#define PAUSE_NS    1000000

/* A question to adverbd. */
struct question {
	struct adv_gid sgid;
	struct adv_gid dgid;
	uint32_t ifindex;
};

static bool is_in_table(const struct adv_gid_table *t, const struct adv_gid *gid)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (adv_gid_equal(&t->entry[i].gid, gid))
			return true;
	return adv_gid_is_ipv4(gid) && gid->raw[12] == 127;
}

/* Reads the GID that the attributes name. The caller holds gids_lock. */
static void read_source(const struct adv_device *d, const struct ibv_ah_attr *attr,
			struct adv_next_hop *n)
{
	const uint8_t index = attr->grh.sgid_index;

	memset(n, 0, sizeof(*n));
	if (!attr->is_global || index >= d->gids.count)
		return;
	n->type = d->gids.entry[index].type;
	n->sgid = d->gids.entry[index].gid;
}

/* Reads the question from the attributes. False: no MAC address is needed, or the attributes are
 * wrong, which the engine will report. */
static bool read_question(struct adv_device *d, const struct ibv_ah_attr *attr,
			  struct adv_next_hop *n, struct question *q)
{
	bool needed;

	memcpy(q->dgid.raw, attr->grh.dgid.raw, sizeof(q->dgid.raw));
	pthread_mutex_lock(&d->gids_lock);
	read_source(d, attr, n);
	needed = n->type == ADV_GID_ROCE_V1 && !adv_gid_is_multicast(&q->dgid) &&
		 !is_in_table(&d->gids, &q->dgid);
	if (needed) {
		q->sgid = n->sgid;
		q->ifindex = d->gids.entry[attr->grh.sgid_index].ifindex;
	}
	pthread_mutex_unlock(&d->gids_lock);
	return needed && adv_gid_is_ipv4(&q->sgid) == adv_gid_is_ipv4(&q->dgid);
}

/* Takes the MAC address out of a link-local GID that was made of one (EUI-64). False: it was not.
 */
static bool read_gid(const struct adv_gid *gid, uint8_t mac[6])
{
	static const uint8_t prefix[8] = {0xfe, 0x80};
	const uint8_t *g = gid->raw;

	if (memcmp(g, prefix, sizeof(prefix)) != 0 || g[11] != 0xff || g[12] != 0xfe)
		return false;
	memcpy(mac, (uint8_t[]){g[8] ^ 2, g[9], g[10], g[13], g[14], g[15]}, 6);
	return true;
}

static int explain_failure(int err, const struct question *q)
{
	char to[ADV_GID_TEXT_LENGTH];

	adv_gid_text(&q->dgid, to);
	if (err == ETIMEDOUT)
		return adv_reason(err, "%s does not answer: its MAC address is not known", to);
	if (err == EHOSTUNREACH)
		return adv_reason(err,
				  "%s cannot be reached without a router, which RoCE v1 does not "
				  "cross: use a GID of RoCE v2",
				  to);
	return adv_reason(err, "the MAC address of %s cannot be found: %s", to, strerror(err));
}

int adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr,
			struct adv_next_hop *n)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct question q;
	uint64_t end;
	int err;

	memset(n, 0, sizeof(*n));
	if (adv_device_is_foreign(d) || !d->v1 || !read_question(d, attr, n, &q) ||
	    read_gid(&q.dgid, n->mac))
		return 0;
	if (d->port) {
		uint32_t host = adv_port_host_of(adv_port_place_of(d->port), &q.dgid);

		/* Packets to no host of the fabric are dropped. */
		if (host != UINT32_MAX)
			adv_port_mac(host, n->mac);
		return 0;
	}
	end = adv_clock_ns() + PATIENCE_NS;
	do {
		err = adv_control_neighbour(d->control, &q.sgid, &q.dgid, q.ifindex, n->mac);
		if (err != EAGAIN)
			return err ? explain_failure(err, &q) : 0;
		nanosleep(&pause, NULL);
	} while (adv_clock_ns() < end);
	return explain_failure(ETIMEDOUT, &q);
}

bool adv_device_next_hop_holds(struct adv_device *d, const struct ibv_ah_attr *attr,
			       const struct adv_next_hop *n)
{
	struct adv_next_hop now;

	if (!d->v1)
		return true;
	pthread_mutex_lock(&d->gids_lock);
	read_source(d, attr, &now);
	pthread_mutex_unlock(&d->gids_lock);
	return now.type == n->type && adv_gid_equal(&now.sgid, &n->sgid);
}
