/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RoCE v2 over UDP sockets: creation and destruction of the link. */
#include "runtime/link/udp_internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/sys.h"

/* Requested size; the kernel grants up to net.core.rmem_max, and doubles that for its own needs. */
#define RECEIVE_BUFFER (4 << 20)

/* The largest buffer that an unprivileged program gets under the default net.core.rmem_max. */
#define STOCK_LARGEST (2 * 212992)

/* Bytes of the receive buffer that a datagram of one 4 KiB packet occupies. A packet of a segmented
 * datagram occupies half of that. */
#define TRUESIZE_4K 8704

static const int on = 1;

static bool set_on(int fd, int level, int name)
{
	return adv_sys_setsockopt(fd, level, name, &on, sizeof(on)) == 0;
}

/*
 * Sets the options of the receiving socket. The destination address and the ECN bits are required;
 * without its hop limit, a packet has hop limit 0.
 * A kernel without UDP_GRO delivers single packets, which is slower but correct.
 */
static bool prepare_receive(struct udp_link *l, int fd)
{
	union udp_sockaddr a;
	socklen_t len = sizeof(a);

	memset(&a, 0, sizeof(a));
	if (adv_sys_getsockname(fd, &a, &len) < 0)
		return false;
	set_on(fd, IPPROTO_UDP, UDP_GRO);
	set_on(fd, IPPROTO_IP, IP_RECVTTL); /* also for IPv4 packets of a dual-stack socket */
	if (a.sa.sa_family == AF_INET) {
		l->receive_port = ntohs(a.in.sin_port);
		return set_on(fd, IPPROTO_IP, IP_PKTINFO) && set_on(fd, IPPROTO_IP, IP_RECVTOS);
	}
	if (a.sa.sa_family == AF_INET6) {
		l->receive_port = ntohs(a.in6.sin6_port);
		set_on(fd, IPPROTO_IP, IP_RECVTOS);
		set_on(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
		return set_on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO) &&
		       set_on(fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
	}
	errno = EAFNOSUPPORT;
	return false;
}

/* Returns the window that the receive buffer allows. Keeps a buffer that the creator of the socket
 * has enlarged already: adverbd may run as root and set a larger one than this process can. */
static unsigned size_receive_buffer(int fd)
{
	int wish = RECEIVE_BUFFER;
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	(void)adv_sys_getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
	if (bytes < STOCK_LARGEST &&
	    adv_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wish, sizeof(wish)) < 0)
		(void)adv_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wish, sizeof(wish));
	(void)adv_sys_getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
	return bytes < TRUESIZE_4K ? 1 : (unsigned)bytes / TRUESIZE_4K;
}

int adv_udp_add_qpns(struct adv_link *link, uint32_t qpn_first, uint32_t qpn_count)
{
	struct udp_link *l = udp_link_of(link);

	if (l->range_count == ADV_UDP_RANGES)
		return ENOSPC;
	l->range[l->range_count++] = (struct udp_range){qpn_first, qpn_count};
	return 0;
}

/* Returns the largest number of sending sockets. It leaves the program most of the descriptors that
 * the program may open. */
static unsigned socket_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 8 > UDP_MAX_SOCKETS)
		return UDP_MAX_SOCKETS;
	return limit.rlim_cur < 128 ? 16 : (unsigned)(limit.rlim_cur / 8);
}

int adv_udp_set_addresses(struct adv_link *link, const struct adv_udp_address *addresses,
			  unsigned count)
{
	struct udp_link *l = udp_link_of(link);

	if (count > ADV_UDP_ADDRESSES)
		return ENOSPC;
	if (count)
		memcpy(l->address, addresses, count * sizeof(*addresses));
	l->address_count = count;
	if (++l->generation == 0)
		l->generation = 1;
	adv_udp_memos_forget(l);
	return 0;
}

void adv_udp_abandon(struct adv_link *link)
{
	struct udp_link *l = udp_link_of(link);

	adv_udp_sockets_close(l);
	adv_sys_close(l->receiver.fd);
}

static void udp_destroy(struct adv_link *link)
{
	struct udp_link *l = udp_link_of(link);

	adv_udp_abandon(link);
	munmap(l, sizeof(*l));
}

static void udp_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		    struct adv_link_way *way)
{
	const struct udp_flow *f =
		udp_flow_of(udp_link_of(link), pkt->path, adv_qpn_target(pkt->dest_qpn));

	*way = (struct adv_link_way){.sport = f ? f->socket->port : pkt->path->sport};
}

static const struct adv_link_ops udp_ops = {
	.send = adv_udp_send,
	.flush = adv_udp_flush,
	.receive = adv_udp_receive,
	.way = udp_way,
	.destroy = udp_destroy,
};

struct adv_link *adv_udp_create(const struct adv_udp_config *config)
{
	/* The link contains nearly a megabyte of buffers; an idle link touches few of its pages. */
	struct udp_link *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = 0;

	if (l == MAP_FAILED) {
		adv_sys_close(config->receive_fd);
		return NULL;
	}
	l->port = config->port ? config->port : ADV_ROCE_UDP_PORT;
	l->generation = 1;
	adv_udp_memos_forget(l);
	l->link.ops = &udp_ops;
	l->link.receive_fd = config->receive_fd;
	l->link.send_fd = -1;
	l->link.bell_fd = -1;
	l->socket_limit = socket_limit();
	l->error_epoll = config->errors ? config->error_epoll : -1;
	l->receiver = (struct udp_receiver){config->receive_fd, .vlen = 1};
	(void)adv_udp_add_qpns(&l->link, config->qpn_first, config->qpn_count);
	if (!prepare_receive(l, config->receive_fd))
		err = errno;
	else
		l->link.rx_window = size_receive_buffer(config->receive_fd);
	if (!err && config->sender && !adv_udp_sender_open(l))
		err = errno;
	if (err) {
		udp_destroy(&l->link);
		errno = err;
		return NULL;
	}
	adv_udp_rx_init(l);
	return &l->link;
}
