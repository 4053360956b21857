/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/raw_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/sys.h"

#define SEND_BUFFER (4 << 20)

_Static_assert(RAW_PLACE_LEN % TPACKET_ALIGNMENT == 0, "the kernel requires it");
/* The kernel puts its header, an address and up to TPACKET_ALIGNMENT bytes before a frame. */
_Static_assert(RAW_PLACE_LEN >= TPACKET2_HDRLEN + TPACKET_ALIGNMENT + RAW_FRAME_MAX,
	       "a place has room for a frame");

/* ---- ways ---- */

static void raw_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		    struct adv_link_way *way)
{
	struct raw_link *l = raw_link_of(link);

	if (adv_raw_leaves(l, pkt->path))
		*way = (struct adv_link_way){.v1 = true};
	else
		adv_link_find_way(l->inner, pkt, way);
}

static bool raw_sleep(struct adv_link *link, bool sleeping)
{
	struct raw_link *l = raw_link_of(link);
	bool nothing = !l->inner->ops->sleep || l->inner->ops->sleep(l->inner, sleeping);

	return nothing && !adv_raw_has_frame(l);
}

/* ---- long packets stay within the machine ---- */

static uint32_t raw_long_payload(struct adv_link *link, const struct adv_path *path,
				 uint32_t dest_qpn, uint32_t length)
{
	struct raw_link *l = raw_link_of(link);

	if (adv_raw_leaves(l, path) || !l->inner->ops->long_payload)
		return 0;
	return l->inner->ops->long_payload(l->inner, path, dest_qpn, length);
}

static void raw_recall(struct adv_link *link, const struct adv_path *path, const void *addr,
		       uint64_t length)
{
	struct raw_link *l = raw_link_of(link);

	if (l->inner->ops->recall)
		l->inner->ops->recall(l->inner, path, addr, length);
}

static void raw_accept_long(struct adv_link *link, bool accepts)
{
	struct raw_link *l = raw_link_of(link);

	if (l->inner->ops->accept_long)
		l->inner->ops->accept_long(l->inner, accepts);
}

/* ---- creation and destruction ---- */

static void release_raw(struct raw_link *l)
{
	if (l->ring)
		munmap(l->ring, (size_t)RAW_BLOCKS * RAW_BLOCK_LEN);
	if (l->link.receive_fd >= 0)
		adv_sys_close(l->link.receive_fd);
	if (l->fd >= 0)
		adv_sys_close(l->fd);
	free(l);
}

static void raw_destroy(struct adv_link *link)
{
	struct raw_link *l = raw_link_of(link);

	l->inner->ops->destroy(l->inner);
	release_raw(l);
}

static const struct adv_link_ops raw_ops = {
	.send = adv_raw_send,
	.flush = adv_raw_flush,
	.receive = adv_raw_receive,
	.sleep = raw_sleep,
	.long_payload = raw_long_payload,
	.recall = raw_recall,
	.accept_long = raw_accept_long,
	.way = raw_way,
	.destroy = raw_destroy,
};

/* Makes the receive ring. 0 or errno. */
static int make_ring(struct raw_link *l)
{
	const struct tpacket_req request = {.tp_block_size = RAW_BLOCK_LEN,
					    .tp_block_nr = RAW_BLOCKS,
					    .tp_frame_size = RAW_PLACE_LEN,
					    .tp_frame_nr = RAW_PLACES};
	const size_t len = (size_t)RAW_BLOCKS * RAW_BLOCK_LEN;
	const int version = TPACKET_V2;
	void *p;

	if (adv_sys_setsockopt(l->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    adv_sys_setsockopt(l->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
		return errno;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (p == MAP_FAILED)
		return errno;
	l->ring = p;
	/* Only the owner of the socket may return places to the kernel. */
	(void)madvise(p, len, MADV_DONTFORK);
	return 0;
}

static int watch_fd(const struct raw_link *l, int op, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	return adv_sys_epoll_ctl(l->link.receive_fd, op, fd, &e) < 0 ? errno : 0;
}

/* Makes an epoll set of the packet socket and the descriptor of the inner link. 0 or errno. */
static int make_set(struct raw_link *l)
{
	int err;

	l->link.receive_fd = adv_sys_epoll_create(EPOLL_CLOEXEC);
	if (l->link.receive_fd < 0)
		return errno;
	err = watch_fd(l, EPOLL_CTL_ADD, l->fd);
	return err ? err : watch_fd(l, EPOLL_CTL_ADD, l->inner->receive_fd);
}

/* Opens the socket. It receives nothing until it is bound. 0 or errno. */
static int open_socket(struct raw_link *l)
{
	const struct sockaddr_ll any = {.sll_family = AF_PACKET,
					.sll_protocol = htons(ADV_ETHERTYPE_ROCE)};
	const int room = SEND_BUFFER;
	int err;

	l->fd = adv_sys_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return errno;
	/* With CAP_NET_ADMIN beyond net.core.wmem_max. */
	if (adv_sys_setsockopt(l->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		(void)adv_sys_setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	err = adv_raw_filter_attach(l);
	if (!err)
		err = make_ring(l);
	if (!err && adv_sys_bind(l->fd, &any, sizeof(any)) < 0)
		err = errno;
	return err ? err : make_set(l);
}

struct adv_link *adv_raw_create(struct adv_link *inner, uint32_t qpn_first, uint32_t qpn_count)
{
	struct raw_link *l = aligned_alloc(64, (sizeof(*l) + 63) / 64 * 64);
	int err;

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->fd = l->link.receive_fd = -1;
	l->inner = inner;
	l->range[l->range_count++] = (struct raw_range){qpn_first, qpn_count};
	err = open_socket(l);
	if (err) {
		release_raw(l);
		errno = err;
		return NULL;
	}
	l->link.ops = &raw_ops;
	l->link.send_fd = -1;
	l->link.bell_fd = inner->bell_fd;
	l->link.inner = inner;
	l->link.rx_window = RAW_PLACES < inner->rx_window ? RAW_PLACES : inner->rx_window;
	return &l->link;
}

/* ---- changes ---- */

int adv_raw_add_qpns(struct adv_link *link, uint32_t qpn_first, uint32_t qpn_count)
{
	struct raw_link *l = raw_link_of(link);
	int err;

	if (l->range_count == ADV_UDP_RANGES)
		return ENOSPC;
	l->range[l->range_count++] = (struct raw_range){qpn_first, qpn_count};
	err = adv_raw_filter_attach(l);
	if (err)
		l->range_count--;
	return err;
}

int adv_raw_set_addresses(struct adv_link *link, const struct adv_raw_address *addresses,
			  unsigned count)
{
	struct raw_link *l = raw_link_of(link);

	if (count > ADV_RAW_ADDRESSES)
		return ENOSPC;
	if (count)
		memcpy(l->address, addresses, count * sizeof(*addresses));
	l->address_count = count;
	return 0;
}

int adv_raw_member(const struct adv_link *link, const struct adv_gid *group, uint32_t ifindex,
		   bool join)
{
	struct packet_mreq m = {
		.mr_ifindex = (int)ifindex, .mr_type = PACKET_MR_MULTICAST, .mr_alen = 6};

	adv_raw_group_mac(group, m.mr_address);
	return adv_sys_setsockopt(adv_raw_fd(link), SOL_PACKET,
				  join ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &m,
				  sizeof(m)) < 0
		       ? errno
		       : 0;
}

int adv_raw_fd(const struct adv_link *link)
{
	return raw_link_of((struct adv_link *)(uintptr_t)link)->fd;
}

void adv_raw_set_inner(struct adv_link *link, struct adv_link *inner)
{
	struct raw_link *l = raw_link_of(link);

	/* The old descriptor may be a copy of one that stays open: it would stay in the set. */
	(void)watch_fd(l, EPOLL_CTL_DEL, l->inner->receive_fd);
	if (watch_fd(l, EPOLL_CTL_ADD, inner->receive_fd))
		adv_warn("cannot watch a UDP socket: %s", strerror(errno));
	l->inner = inner;
	link->inner = inner;
}

void adv_raw_abandon(struct adv_link *link)
{
	const struct raw_link *l = raw_link_of(link);

	adv_sys_close(l->link.receive_fd);
	adv_sys_close(l->fd);
}
