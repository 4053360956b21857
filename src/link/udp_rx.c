/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receiving: divides datagrams into packets and checks the ICRC of each packet. Most datagrams
 * contain several packets, which GRO or the sender's GSO keeps together.
 *
 * The ICRC covers the IPv4 Identification, which a socket does not report. A sender that uses UDP
 * GSO without a connection increments it from 0 with each segment, so the index of the segment is
 * tried first. If that does not fit, the Identification is computed from the ICRC:
 * - From another machine any value is accepted.
 * - From this machine only values that Adverb's own sender can have used are accepted. A datagram
 * of several segments crosses the loopback device unchanged, so the Identification must be the
 * index. A device without GSO may have made single packets of the segments; the Identification of
 * a single packet must therefore be 0 to 63.
 */
#include "link/udp_internal.h"

#include <errno.h>

#include "base/sys.h"

#define MIN_PACKET (ADV_BTH_LEN + ADV_ICRC_LEN)

/* One datagram as the socket delivered it. */
struct datagram {
	struct adv_rx_meta meta;
	struct adv_icrc_run icrc;
	const uint8_t *data;
	uint32_t len;
	uint32_t segment_len;
};

void udp_rx_init(struct udp_link *l)
{
	struct udp_rx *rx = &l->rx;

	for (unsigned i = 0; i < UDP_RX_BATCH; i++) {
		struct msghdr *m = &rx->mmsg[i].msg_hdr;

		rx->iov[i] = (struct iovec){rx->buffer[i] + UDP_FIRST_PACKET, UDP_RX_BUFFER};
		m->msg_iov = &rx->iov[i];
		m->msg_iovlen = 1;
		m->msg_name = &rx->from[i];
		m->msg_control = &rx->control[i];
	}
}

static void gid_from_ipv4(struct adv_gid *gid, const void *addr)
{
	memset(gid->raw, 0, 10);
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, addr, 4);
}

static bool read_source(struct datagram *d, const struct msghdr *m)
{
	const union udp_sockaddr *from = m->msg_name;

	if (m->msg_namelen >= sizeof(from->in6) && from->sa.sa_family == AF_INET6) {
		memcpy(d->meta.sgid.raw, &from->in6.sin6_addr, 16);
		d->meta.sport = ntohs(from->in6.sin6_port);
		return true;
	}
	if (m->msg_namelen >= sizeof(from->in) && from->sa.sa_family == AF_INET) {
		gid_from_ipv4(&d->meta.sgid, &from->in.sin_addr);
		d->meta.sport = ntohs(from->in.sin_port);
		return true;
	}
	return false;
}

/* Reads the control data. A dual-stack socket reports the type of service of IPv4 at the level of
 * IPv4, and everything else at the level of IPv6. */
static bool read_control(struct datagram *d, struct msghdr *m)
{
	bool have_destination = false;

	d->segment_len = d->len;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		const void *p = CMSG_DATA(c);
		size_t n = c->cmsg_len - CMSG_LEN(0);
		int value;

		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && n >= sizeof(int)) {
			memcpy(&value, p, sizeof(value));
			if (value <= 0)
				return false;
			d->segment_len = (uint32_t)value;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS && n >= 1) {
			d->meta.tclass = *(const uint8_t *)p;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS &&
			   n >= sizeof(int)) {
			memcpy(&value, p, sizeof(value));
			d->meta.tclass = (uint8_t)value;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO &&
			   n >= sizeof(struct in_pktinfo)) {
			gid_from_ipv4(&d->meta.dgid,
				      (const uint8_t *)p + offsetof(struct in_pktinfo, ipi_addr));
			have_destination = true;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO &&
			   n >= sizeof(struct in6_pktinfo)) {
			memcpy(d->meta.dgid.raw,
			       (const uint8_t *)p + offsetof(struct in6_pktinfo, ipi6_addr), 16);
			have_destination = true;
		}
	}
	return have_destination;
}

static void fill_flow(struct udp_link *l, struct datagram *d)
{
	struct adv_icrc_flow *f = &d->icrc.flow;

	f->ipv4 = adv_gid_is_ipv4(&d->meta.sgid);
	f->sport = d->meta.sport;
	f->dport = l->receive_port;
	adv_icrc_flow_set_addresses(f, d->meta.sgid.raw, d->meta.dgid.raw);
}

/*
 * Computes the Identification that yields the ICRC `found`; `computed` is the ICRC for *id. The
 * ICRC is affine in the Identification, so the difference of the ICRCs gives the bits that differ.
 * If there is no solution, tries again with Don't Fragment clear, as other stacks may send it.
 */
static bool solve_id(const struct datagram *d, bool own, const uint8_t *p, uint32_t len,
		     uint32_t found, uint32_t computed, uint16_t *id)
{
	struct adv_icrc_flow fragmentable = d->icrc.flow;
	uint16_t difference;

	if (!adv_icrc_solve_id(found, computed, len, &difference)) {
		fragmentable.ipv4_no_df = true;
		computed = adv_icrc_finish(adv_icrc_begin(&fragmentable, *id, len), p,
					   len - ADV_ICRC_LEN);
		if (own || !adv_icrc_solve_id(found, computed, len, &difference))
			return false;
	}
	*id ^= difference;
	return !own || *id < UDP_GSO_SEGMENTS;
}

/* True if the ICRC is right. *id: the expected Identification; becomes the actual one. */
static bool icrc_is_right(const struct udp_link *l, struct datagram *d, const uint8_t *p,
			  uint32_t len, uint16_t *id)
{
	const uint8_t *q = p + len - ADV_ICRC_LEN;
	uint32_t found = q[0] | (uint32_t)q[1] << 8 | (uint32_t)q[2] << 16 | (uint32_t)q[3] << 24;
	uint32_t computed =
		adv_icrc_finish(adv_icrc_run_begin(&d->icrc, *id, len), p, len - ADV_ICRC_LEN);
	bool own;

	if (computed == found)
		return true;
	if (!d->icrc.flow.ipv4)
		return false;
	own = adv_udp_is_own_address(&l->link, &d->meta.sgid);
	if (own && d->segment_len < d->len)
		return false;
	return solve_id(d, own, p, len, found, computed, id);
}

static bool is_accepted_qpn(const struct udp_link *l, const uint8_t *bth)
{
	uint32_t qpn = (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];

	for (unsigned i = 0; i < l->range_count; i++)
		if (!l->range[i].qpn_count || qpn - l->range[i].qpn_first < l->range[i].qpn_count)
			return true;
	return qpn == ADV_QPN_MULTICAST;
}

static unsigned deliver_packets(struct udp_link *l, struct datagram *d, adv_link_rx_fn *fn,
				void *user)
{
	struct adv_link_counters *count = &l->link.counters;
	struct adv_rx_packet pkt = {.meta = &d->meta};
	unsigned packets = 0;
	uint16_t id = 0;

	for (uint32_t at = 0; at < d->len; at += d->segment_len, packets++, id++) {
		const uint8_t *p = d->data + at;
		uint32_t len = d->len - at < d->segment_len ? d->len - at : d->segment_len;

		count->rx_packets++;
		count->rx_bytes += len;
		if (len < MIN_PACKET || len > UDP_PACKET_MAX || len % 4 != 0) {
			count->rx_malformed++;
			continue;
		}
		if (!icrc_is_right(l, d, p, len, &id)) {
			count->rx_icrc_errors++;
			continue;
		}
		if (!is_accepted_qpn(l, p)) {
			count->rx_misdelivered++;
			continue;
		}
		pkt.data = p;
		pkt.len = len - ADV_ICRC_LEN;
		fn(user, &pkt);
	}
	return packets;
}

static unsigned receive_datagram(struct udp_link *l, struct mmsghdr *mmsg, adv_link_rx_fn *fn,
				 void *user)
{
	struct msghdr *m = &mmsg->msg_hdr;
	struct datagram d = {.data = m->msg_iov->iov_base, .len = mmsg->msg_len};

	if (d.len == 0 || m->msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !read_source(&d, m) ||
	    !read_control(&d, m) ||
	    adv_gid_is_ipv4(&d.meta.sgid) != adv_gid_is_ipv4(&d.meta.dgid)) {
		l->link.counters.rx_packets++;
		l->link.counters.rx_malformed++;
		return 1;
	}
	fill_flow(l, &d);
	return deliver_packets(l, &d, fn, user);
}

/* Restores the members that the kernel changed in the previous call. */
static void reset_header(struct msghdr *m)
{
	m->msg_namelen = sizeof(union udp_sockaddr);
	m->msg_controllen = UDP_RX_CONTROL;
	m->msg_flags = 0;
}

/* Receives up to n datagrams by one system call. Returns their number. */
static unsigned receive_some(struct udp_link *l, const struct udp_receiver *from, unsigned n)
{
	struct udp_rx *rx = &l->rx;
	ssize_t r;

	for (unsigned i = 0; i < n; i++)
		reset_header(&rx->mmsg[i].msg_hdr);
	if (n == 1) {
		r = adv_sys_recvmsg(from->fd, &rx->mmsg[0].msg_hdr, MSG_DONTWAIT);
		if (r < 0)
			return 0;
		rx->mmsg[0].msg_len = (unsigned)r;
		return 1;
	}
	r = adv_sys_recvmmsg(from->fd, rx->mmsg, n, MSG_DONTWAIT);
	return r < 0 ? 0 : (unsigned)r;
}

/*
 * Adapts the batch size: it grows while calls return full batches, and shrinks otherwise. recvmsg()
 * is fastest for a single packet. recvmmsg() is faster only if several datagrams are queued.
 */
static void adapt_batch(struct udp_receiver *from, unsigned asked, unsigned got)
{
	if (got == asked) {
		if (++from->streak >= 4 && from->vlen < UDP_RX_BATCH)
			from->vlen *= 2;
	} else {
		from->streak = 0;
		if (got <= from->vlen / 2)
			from->vlen = from->vlen > 1 ? from->vlen / 2 : 1;
	}
}

unsigned udp_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct udp_link *l = udp_link_of(link);
	struct udp_receiver *from = &l->receiver;
	unsigned packets = 0;

	while (packets < budget) {
		unsigned asked = from->vlen;
		unsigned got = receive_some(l, from, asked);

		if (got == 0 && asked == 1) {
			from->streak = 0;
			break;
		}
		for (unsigned i = 0; i < got; i++)
			packets += receive_datagram(l, &l->rx.mmsg[i], fn, user);
		adapt_batch(from, asked, got);
		if (got < asked || asked == 1)
			break;
	}
	return packets;
}
