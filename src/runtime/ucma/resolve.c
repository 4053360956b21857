/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/resolve.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_ROOM 8192
/* Most answers read for one request: late answers to earlier requests may precede its own. */
#define ANSWERS_READ 16
#define PORT_DISCARD 9
#define REQUEST_ROOM 256
#define NUD_VALID_ANY                                                                              \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

struct adv_resolver {
	struct mnl_socket *netlink;
	int udp4; /* -1: the kernel does not support IPv4 */
	int udp6;
	uint32_t serial;
};

union request {
	struct nlmsghdr header;
	char room[REQUEST_ROOM];
};

static int udp_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	int one = 1;

	if (fd >= 0 && family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	return fd;
}

struct adv_resolver *adv_resolver_create(void)
{
	struct adv_resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->netlink = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	r->udp4 = udp_socket(AF_INET);
	r->udp6 = udp_socket(AF_INET6);
	if (!r->netlink || (r->udp4 < 0 && r->udp6 < 0)) {
		int saved = errno;

		adv_resolver_destroy(r);
		errno = saved;
		return NULL;
	}
	return r;
}

void adv_resolver_destroy(struct adv_resolver *r)
{
	if (r->netlink)
		mnl_socket_close(r->netlink);
	if (r->udp4 >= 0)
		close(r->udp4);
	if (r->udp6 >= 0)
		close(r->udp6);
	free(r);
}

/* ---- asking ---- */

static const uint8_t *address_of(const struct adv_gid *g, size_t *len)
{
	*len = adv_gid_is_ipv4(g) ? 4 : 16;
	return g->raw + 16 - *len;
}

static uint8_t family_of(const struct adv_gid *g)
{
	return adv_gid_is_ipv4(g) ? AF_INET : AF_INET6;
}

static void put_address(union request *q, uint16_t type, const struct adv_gid *g)
{
	size_t len;
	const uint8_t *p = address_of(g, &len);

	mnl_attr_put(&q->header, type, len, p);
}

static void begin_request(struct adv_resolver *r, union request *q, uint16_t type, const void *body,
			  size_t len)
{
	mnl_nlmsg_put_header(q);
	q->header.nlmsg_type = type;
	q->header.nlmsg_flags = NLM_F_REQUEST;
	q->header.nlmsg_seq = ++r->serial;
	memcpy(mnl_nlmsg_put_extra_header(&q->header, len), body, len);
}

/* Sends a request and reads the answer, which the kernel has queued when sending returns. Returns
 * the length of the answer, or 0 with errno. */
static size_t send_request(struct adv_resolver *r, const union request *q, char answer[ANSWER_ROOM])
{
	if (mnl_socket_sendto(r->netlink, q, q->header.nlmsg_len) < 0)
		return 0;
	for (int i = 0; i < ANSWERS_READ; i++) {
		const struct nlmsghdr *h = (const void *)answer;
		ssize_t n = mnl_socket_recvfrom(r->netlink, answer, ANSWER_ROOM);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return 0;
		if (mnl_nlmsg_ok(h, (int)n) && h->nlmsg_seq == r->serial)
			return (size_t)n;
	}
	errno = EPROTO;
	return 0;
}

/* ---- reading ---- */

/*
 * Finds the message that answers the request with number `serial`. Returns 0 and the message; an
 * errno of the kernel; EPROTO: there is no such message. Does not use mnl_cb_run(), which accepts
 * an acknowledgement as an answer and any number as an errno.
 */
static int open_answer(const void *data, size_t len, uint32_t serial, uint16_t type, size_t body,
		       const struct nlmsghdr **out)
{
	const struct nlmsghdr *h = data;
	const struct nlmsgerr *e;

	if (!mnl_nlmsg_ok(h, (int)len) || h->nlmsg_seq != serial)
		return EPROTO;
	if (h->nlmsg_type == NLMSG_ERROR) {
		e = mnl_nlmsg_get_payload(h);
		if (mnl_nlmsg_get_payload_len(h) < sizeof(*e) || e->error >= 0 || e->error < -4095)
			return EPROTO;
		return -e->error;
	}
	if (h->nlmsg_type != type || mnl_nlmsg_get_payload_len(h) < body)
		return EPROTO;
	*out = h;
	return 0;
}

static bool read_gid(const struct nlattr *a, uint8_t family, struct adv_gid *g)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	size_t len = family == AF_INET ? 4 : 16;

	if (mnl_attr_get_payload_len(a) != len)
		return false;
	memcpy(g->raw, mapped, sizeof(mapped));
	memcpy(g->raw + 16 - len, mnl_attr_get_payload(a), len);
	return true;
}

/* Reads the gateway of another address family: an IPv4 route may have an IPv6 gateway. */
static void read_via(const struct nlattr *a, struct adv_gid *g)
{
	const struct rtvia *via = mnl_attr_get_payload(a);
	const size_t head = offsetof(struct rtvia, rtvia_addr);

	if (mnl_attr_get_payload_len(a) == head + sizeof(g->raw) && via->rtvia_family == AF_INET6)
		memcpy(g->raw, via->rtvia_addr, sizeof(g->raw));
}

struct route {
	uint8_t family;
	struct adv_ip_route *way;
};

static int read_route_attribute(const struct nlattr *a, void *user)
{
	const struct route *route = user;
	struct adv_ip_route *way = route->way;

	switch (mnl_attr_get_type(a)) {
	case RTA_OIF:
		if (mnl_attr_get_payload_len(a) == sizeof(way->ifindex))
			way->ifindex = mnl_attr_get_u32(a);
		break;
	case RTA_PREFSRC:
		way->has_source = read_gid(a, route->family, &way->source);
		break;
	case RTA_GATEWAY:
		read_gid(a, route->family, &way->next_hop);
		break;
	case RTA_VIA:
		read_via(a, &way->next_hop);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int error_of_type(uint8_t type)
{
	switch (type) {
	case RTN_UNICAST:
	case RTN_LOCAL:
	case RTN_ANYCAST:
	case RTN_MULTICAST:
		return 0;
	case RTN_UNREACHABLE:
		return EHOSTUNREACH;
	case RTN_BROADCAST:
	case RTN_PROHIBIT:
		return EACCES;
	default:
		return ENETUNREACH;
	}
}

int adv_resolve_parse_route(const void *data, size_t len, uint32_t serial, struct adv_ip_route *way)
{
	const struct nlmsghdr *h = NULL;
	const struct rtmsg *m;
	struct route route;
	int error = open_answer(data, len, serial, RTM_NEWROUTE, sizeof(*m), &h);

	if (error)
		return error;
	m = mnl_nlmsg_get_payload(h);
	error = error_of_type(m->rtm_type);
	if (error)
		return error;
	if (m->rtm_family != AF_INET && m->rtm_family != AF_INET6)
		return EPROTO;
	way->local = m->rtm_type == RTN_LOCAL || m->rtm_type == RTN_ANYCAST;
	way->multicast = m->rtm_type == RTN_MULTICAST;
	way->has_source = false;
	way->ifindex = 0;
	route = (struct route){m->rtm_family, way};
	/* mnl_attr_parse() would also read the padding behind the message. */
	mnl_attr_parse_payload(m + 1, mnl_nlmsg_get_payload_len(h) - sizeof(*m),
			       read_route_attribute, &route);
	return way->ifindex ? 0 : ENETUNREACH;
}

int adv_resolve_parse_neighbour(const void *data, size_t len, uint32_t serial, uint16_t *state)
{
	const struct nlmsghdr *h = NULL;
	const struct ndmsg *m;
	int error = open_answer(data, len, serial, RTM_NEWNEIGH, sizeof(*m), &h);

	if (error)
		return error;
	m = mnl_nlmsg_get_payload(h);
	*state = m->ndm_state;
	return 0;
}

static int read_neighbour_attribute(const struct nlattr *a, void *user)
{
	if (mnl_attr_get_type(a) == NDA_LLADDR)
		*(const struct nlattr **)user = a;
	return MNL_CB_OK;
}

bool adv_resolve_parse_mac(const void *data, size_t len, uint32_t serial, uint8_t mac[6])
{
	const struct nlattr *address = NULL;
	const struct nlmsghdr *h = NULL;
	const struct ndmsg *m;

	if (open_answer(data, len, serial, RTM_NEWNEIGH, sizeof(*m), &h))
		return false;
	m = mnl_nlmsg_get_payload(h);
	mnl_attr_parse_payload(m + 1, mnl_nlmsg_get_payload_len(h) - sizeof(*m),
			       read_neighbour_attribute, &address);
	if (!address || mnl_attr_get_payload_len(address) != 6)
		return false;
	memcpy(mac, mnl_attr_get_payload(address), 6);
	return true;
}

/* ---- the questions ---- */

int adv_resolve_way(struct adv_resolver *r, const struct adv_gid *to, const struct adv_gid *source,
		    uint32_t ifindex, struct adv_ip_route *way)
{
	char answer[ANSWER_ROOM] __attribute__((aligned(8)));
	struct rtmsg m = {.rtm_family = family_of(to)};
	union request q;
	size_t bits, n;
	int error;

	address_of(to, &bits);
	m.rtm_dst_len = (uint8_t)(bits * 8);
	m.rtm_src_len = source ? m.rtm_dst_len : 0;
	begin_request(r, &q, RTM_GETROUTE, &m, sizeof(m));
	put_address(&q, RTA_DST, to);
	if (source)
		put_address(&q, RTA_SRC, source);
	if (ifindex)
		mnl_attr_put_u32(&q.header, RTA_OIF, ifindex);
	n = send_request(r, &q, answer);
	if (!n)
		return errno;
	memset(way, 0, sizeof(*way));
	way->next_hop = *to;
	error = adv_resolve_parse_route(answer, n, q.header.nlmsg_seq, way);
	if (!error && source) {
		way->source = *source;
		way->has_source = true;
	}
	/* The routing table may route a multicast group by a unicast route. */
	if (adv_gid_is_multicast(to))
		way->multicast = true;
	return error;
}

uint32_t adv_resolve_interface_flags(struct adv_resolver *r, uint32_t ifindex)
{
	int fd = r->udp4 >= 0 ? r->udp4 : r->udp6;
	struct ifreq f = {.ifr_ifindex = (int)ifindex};

	if (ioctl(fd, SIOCGIFNAME, &f) < 0 || ioctl(fd, SIOCGIFFLAGS, &f) < 0)
		return 0;
	return (uint16_t)f.ifr_flags;
}

/* Asks for the entry of the next hop. Returns as send_request(). */
static size_t request_neighbour(struct adv_resolver *r, const struct adv_ip_route *way,
				union request *q, char answer[ANSWER_ROOM])
{
	struct ndmsg m = {.ndm_family = family_of(&way->next_hop),
			  .ndm_ifindex = (int)way->ifindex};

	begin_request(r, q, RTM_GETNEIGH, &m, sizeof(m));
	put_address(q, NDA_DST, &way->next_hop);
	return send_request(r, q, answer);
}

static enum adv_neighbour meaning_of(uint16_t state)
{
	if (state & NUD_VALID_ANY)
		return ADV_NEIGHBOUR_KNOWN;
	return state & NUD_FAILED ? ADV_NEIGHBOUR_FAILED : ADV_NEIGHBOUR_ASKED;
}

enum adv_neighbour adv_resolve_mac(struct adv_resolver *r, const struct adv_ip_route *way,
				   uint8_t mac[6])
{
	char answer[ANSWER_ROOM] __attribute__((aligned(8)));
	enum adv_neighbour known;
	union request q;
	uint16_t state = 0;
	size_t n = request_neighbour(r, way, &q, answer);

	if (!n || adv_resolve_parse_neighbour(answer, n, q.header.nlmsg_seq, &state))
		return ADV_NEIGHBOUR_NONE;
	known = meaning_of(state);
	if (known == ADV_NEIGHBOUR_KNOWN &&
	    !adv_resolve_parse_mac(answer, n, q.header.nlmsg_seq, mac))
		return ADV_NEIGHBOUR_NONE;
	return known;
}

enum adv_neighbour adv_resolve_neighbour(struct adv_resolver *r, const struct adv_ip_route *way)
{
	char answer[ANSWER_ROOM] __attribute__((aligned(8)));
	union request q;
	uint16_t state = 0;
	size_t n;

	if (way->local || way->multicast ||
	    (adv_resolve_interface_flags(r, way->ifindex) & (IFF_LOOPBACK | IFF_NOARP)))
		return ADV_NEIGHBOUR_KNOWN;
	n = request_neighbour(r, way, &q, answer);
	switch (n ? adv_resolve_parse_neighbour(answer, n, q.header.nlmsg_seq, &state) : errno) {
	case 0:
		return meaning_of(state);
	case ENOENT:
		return ADV_NEIGHBOUR_NONE;
	default: /* kernels before 5.0 do not answer this request, so it is not sent */
		return ADV_NEIGHBOUR_KNOWN;
	}
}

/* ---- provoking neighbour resolution ---- */

static void send_ipv4(int fd, const struct adv_gid *to, const struct adv_ip_route *way)
{
	union {
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control = {{0}};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT_DISCARD)};
	struct in_pktinfo info = {0};
	struct msghdr m = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_control = &control,
			   .msg_controllen = sizeof(control.room)};

	memcpy(&a.sin_addr, to->raw + 12, 4);
	if (way->has_source)
		memcpy(&info.ipi_spec_dst, way->source.raw + 12, 4);
	control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(info)),
					 .cmsg_level = IPPROTO_IP,
					 .cmsg_type = IP_PKTINFO};
	memcpy(CMSG_DATA(&control.align), &info, sizeof(info));
	(void)!sendmsg(fd, &m, MSG_NOSIGNAL);
}

static void send_ipv6(int fd, const struct adv_gid *to, const struct adv_ip_route *way)
{
	union {
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control = {{0}};
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(PORT_DISCARD)};
	struct in6_pktinfo info = {.ipi6_ifindex = way->ifindex};
	struct msghdr m = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_control = &control,
			   .msg_controllen = sizeof(control.room)};

	memcpy(&a.sin6_addr, to->raw, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr))
		a.sin6_scope_id = way->ifindex;
	if (way->has_source)
		memcpy(&info.ipi6_addr, way->source.raw, 16);
	control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(info)),
					 .cmsg_level = IPPROTO_IPV6,
					 .cmsg_type = IPV6_PKTINFO};
	memcpy(CMSG_DATA(&control.align), &info, sizeof(info));
	(void)!sendmsg(fd, &m, MSG_NOSIGNAL);
}

void adv_resolve_probe_neighbour(struct adv_resolver *r, const struct adv_gid *to,
				 const struct adv_ip_route *way)
{
	if (adv_gid_is_ipv4(to))
		send_ipv4(r->udp4, to, way);
	else
		send_ipv6(r->udp6, to, way);
}

bool adv_resolve_is_own(struct adv_resolver *r, const struct adv_gid *gid, uint32_t ifindex)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_scope_id = ifindex};
	int fd = udp_socket(family_of(gid));
	bool own;

	if (fd < 0)
		return false;
	memcpy(&in.sin_addr, gid->raw + 12, 4);
	memcpy(&in6.sin6_addr, gid->raw, 16);
	own = (adv_gid_is_ipv4(gid) ? bind(fd, (void *)&in, sizeof(in))
				    : bind(fd, (void *)&in6, sizeof(in6))) == 0;
	close(fd);
	return own;
}
