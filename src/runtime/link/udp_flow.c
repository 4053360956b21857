/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flows: socket, destination and first part of the ICRC of the packets of a path. They are computed
 * once and found again by the path's hint. A change of the machine's addresses makes all flows
 * invalid.
 *
 * The table is no more than a cache: a new flow replaces the flow of the same place, unless an
 * unsent message refers to it.
 */
#include "runtime/link/udp_internal.h"

#include <stdatomic.h>

#include "base/sys.h"

bool adv_udp_is_link_local(const struct adv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Returns the place of a flow in the table. */
static uint32_t place_of(const struct adv_path *path, bool any_path, uint16_t target)
{
	uint64_t a[4], h = any_path ? 1 : (uint64_t)path->sport << 16 | target;

	memcpy(a, path->sgid.raw, 16);
	memcpy(a + 2, path->dgid.raw, 16);
	for (unsigned i = 0; i < 4; i++)
		h = (h ^ a[i] ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32) % UDP_FLOWS;
}

static void fill_destination(const struct udp_link *l, struct udp_flow *f)
{
	const struct adv_gid *g = &f->dgid;

	memset(&f->to, 0, sizeof(f->to));
	if (f->ipv4) {
		f->to.in.sin_family = AF_INET;
		f->to.in.sin_port = htons(l->port);
		memcpy(&f->to.in.sin_addr, g->raw + 12, 4);
		f->to_len = sizeof(f->to.in);
		return;
	}
	f->to.in6.sin6_family = AF_INET6;
	f->to.in6.sin6_port = htons(l->port);
	memcpy(&f->to.in6.sin6_addr, g->raw, 16);
	if (adv_udp_is_link_local(g) || f->multicast)
		f->to.in6.sin6_scope_id = f->ifindex;
	f->to_len = sizeof(f->to.in6);
}

static void fill_icrc(const struct udp_link *l, struct udp_flow *f)
{
	struct adv_icrc_flow icrc = {.ipv4 = f->ipv4, .sport = f->socket->port, .dport = l->port};

	adv_icrc_flow_set_addresses(&icrc, f->sgid.raw, f->dgid.raw);
	f->icrc = adv_icrc_begin(&icrc, 0, 0);
}

/*
 * True if a socket that is bound to no address sends from f->sgid unless the message names another
 * source. The kernel answers that by connecting a socket. Naming the source costs a tenth of a
 * send. For other pairs than an address and itself, the kernel's choice may change while the
 * machine's addresses do not.
 */
static bool kernel_chooses_source(const struct udp_flow *f)
{
	union udp_sockaddr a = f->to;
	socklen_t len = f->to_len;
	bool same;
	int fd;

	if (!adv_gid_equal(&f->sgid, &f->dgid))
		return false;
	fd = adv_sys_socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
	if (fd < 0)
		return false;
	same = adv_sys_connect(fd, &a, len) == 0 && adv_sys_getsockname(fd, &a, &len) == 0 &&
	       (f->ipv4 ? memcmp(&a.in.sin_addr, f->sgid.raw + 12, 4)
			: memcmp(&a.in6.sin6_addr, f->sgid.raw, 16)) == 0;
	adv_sys_close(fd);
	return same;
}

static bool is_in_use(const struct udp_link *l, const struct udp_flow *f)
{
	for (unsigned i = l->tx.next; i < l->tx.count; i++)
		if (l->tx.message[i].flow == f)
			return true;
	return false;
}

void adv_udp_flow_memorize(const struct udp_link *l, const struct udp_flow *f,
			   struct adv_path *path, enum adv_ecn ecn)
{
	path->link_memo = (l->memo_tag | (uint64_t)ecn) << UDP_MEMO_SHIFT | (uint64_t)(f - l->flow);
}

void adv_udp_memos_forget(struct udp_link *l)
{
	static _Atomic uint64_t last_tag;

	/* The lowest two bits are for the ECN bits. */
	l->memo_tag = (atomic_fetch_add_explicit(&last_tag, 1, memory_order_relaxed) + 1) << 2;
}

const struct udp_flow *adv_udp_flow_find(struct udp_link *l, struct adv_path *path, uint16_t target)
{
	bool any_path = adv_udp_sender_serves(l, &path->dgid);
	uint32_t place = place_of(path, any_path, target);
	struct udp_flow *f = &l->flow[place];
	struct udp_socket *s;

	/* There are fewer messages than places. */
	while (!udp_flow_matches(l, f, path, target) && is_in_use(l, f)) {
		place = (place + 1) % UDP_FLOWS;
		f = &l->flow[place];
	}
	path->link_hint = place;
	if (udp_flow_matches(l, f, path, target))
		return f;
	if (adv_gid_is_ipv4(&path->sgid) != adv_gid_is_ipv4(&path->dgid))
		return NULL;
	s = adv_udp_socket_get(l, path, target);
	if (!s)
		return NULL;
	adv_udp_memos_forget(l);
	*f = (struct udp_flow){
		.sgid = path->sgid,
		.dgid = path->dgid,
		.generation = l->generation,
		.sport = path->sport,
		.target = target,
		.ipv4 = s->ipv4,
		.any_path = any_path,
		.multicast = adv_gid_is_multicast(&path->dgid),
		.ifindex = s->any_source ? adv_udp_ifindex_of(l, &path->sgid) : s->ifindex,
		.socket = s,
		.segment = s->any_source ? &l->sender[0].segment : &s->segment,
	};
	fill_destination(l, f);
	fill_icrc(l, f);
	f->name_source = s->any_source && !kernel_chooses_source(f);
	f->is_special = f->name_source || f->multicast;
	return f;
}
