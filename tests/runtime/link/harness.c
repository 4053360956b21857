/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "harness.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/link/udp_internal.h"

struct adv_gid gid_of(const char *address)
{
	struct adv_gid g = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (strchr(address, ':'))
		assert_int_equal(inet_pton(AF_INET6, address, g.raw), 1);
	else
		assert_int_equal(inet_pton(AF_INET, address, g.raw + 12), 1);
	return g;
}

static socklen_t fill_address(union udp_sockaddr *a, const char *address, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	if (strchr(address, ':')) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(port);
		assert_int_equal(inet_pton(AF_INET6, address, &a->in6.sin6_addr), 1);
		return sizeof(a->in6);
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, address, &a->in.sin_addr), 1);
	return sizeof(a->in);
}

int plain_socket(const char *address, uint16_t port)
{
	union udp_sockaddr a;
	socklen_t len = fill_address(&a, address, port);
	int fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int off = 0, discover = IP_PMTUDISC_DO;

	assert_true(fd >= 0);
	if (a.sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	else
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	assert_int_equal(bind(fd, &a.sa, len), 0);
	return fd;
}

static struct adv_link *open_config(const struct adv_udp_config *config)
{
	struct adv_link *link = adv_udp_create(config);

	assert_non_null(link);
	return link;
}

static struct adv_link *open_at(const char *address, uint16_t port, uint32_t qpn_first,
				uint32_t qpn_count)
{
	struct adv_udp_config config = {
		.receive_fd = plain_socket(address, port),
		.qpn_first = qpn_first,
		.qpn_count = qpn_count,
	};

	return open_config(&config);
}

struct adv_link *open_known(const char *address)
{
	struct adv_udp_config config = {
		.receive_fd = plain_socket(address, ADV_ROCE_UDP_PORT),
		.sender = true,
	};

	return open_config(&config);
}

struct adv_link *open_link_for(const char *address, uint32_t qpn_first, uint32_t qpn_count)
{
	return open_at(address, ADV_ROCE_UDP_PORT, qpn_first, qpn_count);
}

struct adv_link *open_link(const char *address)
{
	return open_at(address, ADV_ROCE_UDP_PORT, 0, 0);
}

struct adv_link *open_sender(const char *address)
{
	return open_at(address, 4790, 0, 0);
}

void close_link(struct adv_link *link)
{
	link->ops->destroy(link);
}

struct store *fresh_store(void)
{
	static struct store *store;

	if (!store)
		store = malloc(sizeof(*store));
	assert_non_null(store);
	store->count = 0;
	return store;
}

void keep_packet(void *user, const struct adv_rx_packet *pkt)
{
	struct store *store = user;
	struct stored *p = &store->packet[store->count++];

	assert_true(store->count <= STORE_PACKETS);
	assert_true(pkt->len <= sizeof(p->data));
	p->meta = *pkt->meta;
	p->datagram = pkt->datagram;
	p->len = pkt->len;
	memcpy(p->data, adv_rx_payload(pkt, 0), pkt->len);
}

static void receive_next(struct adv_link *link, struct store *store)
{
	struct pollfd pfd = {.fd = link->receive_fd, .events = POLLIN};

	assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
	(void)link->ops->receive(link, 64, keep_packet, store);
}

void receive_all(struct adv_link *link, struct store *store, unsigned want)
{
	while (store->count < want)
		receive_next(link, store);
	while (link->ops->receive(link, 64, keep_packet, store))
		;
}

void receive_counted(struct adv_link *link, struct store *store, uint64_t want)
{
	while (adv_link_count(link).rx_packets < want)
		receive_next(link, store);
	receive_all(link, store, 0);
}

void path_between(struct adv_path *path, const char *from, const char *to, uint16_t sport)
{
	*path = (struct adv_path){.sgid = gid_of(from), .dgid = gid_of(to), .sport = sport};
}

static void fill_bth(uint8_t *p, uint32_t qpn, uint32_t psn, uint32_t payload_len)
{
	struct adv_headers h = {.bth = {
					.opcode = ADV_SERVICE_RC | ADV_OP_SEND_ONLY,
					.pad = (uint8_t)(-payload_len & 3),
					.pkey = ADV_PKEY_DEFAULT,
					.dest_qpn = qpn,
					.psn = psn,
				}};

	assert_int_equal(adv_headers_encode(&h, p), ADV_BTH_LEN);
}

static uint8_t pattern(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn * 31 + i * 7 + (i >> 8) * 13);
}

struct adv_tx_packet *add_packet(struct adv_tx_batch *batch, struct adv_path *path, uint32_t qpn,
				 uint32_t psn, uint32_t payload_len)
{
	static uint8_t memory[ADV_TX_BATCH_PACKETS][4096];
	struct adv_tx_packet *pkt = &batch->packet[batch->count];
	uint8_t *payload = memory[batch->count++];
	uint32_t half = payload_len / 2;

	for (uint32_t i = 0; i < payload_len; i++)
		payload[i] = pattern(psn, i);
	*pkt = (struct adv_tx_packet){
		.path = path,
		.iov = &batch->iov[batch->iov_used],
		.iov_count = payload_len ? 2 : 0,
		.header_len = ADV_BTH_LEN,
		.pad = (uint8_t)(-payload_len & 3),
		.payload_len = payload_len,
		.dest_qpn = qpn,
	};
	fill_bth(pkt->header, qpn, psn, payload_len);
	batch->iov[batch->iov_used++] = (struct iovec){payload, half};
	batch->iov[batch->iov_used++] = (struct iovec){payload + half, payload_len - half};
	return pkt;
}

void check_packet(const struct stored *p, uint32_t qpn, uint32_t psn, uint32_t payload_len)
{
	struct adv_headers h;

	assert_int_equal(p->len, ADV_BTH_LEN + ((payload_len + 3) & ~3u));
	assert_int_equal(adv_headers_decode(p->data, p->len, &h), ADV_BTH_LEN);
	assert_int_equal(h.bth.dest_qpn, qpn);
	assert_int_equal(h.bth.psn, psn);
	assert_int_equal(h.bth.pad, -payload_len & 3);
	for (uint32_t i = 0; i < payload_len; i++)
		assert_int_equal(p->data[ADV_BTH_LEN + i], pattern(psn, i));
}

void send_plain(int fd, const char *to, const void *p, size_t len, uint16_t segment_len)
{
	union udp_sockaddr a;
	socklen_t alen = fill_address(&a, to, ADV_ROCE_UDP_PORT);
	int segment = segment_len;

	assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	assert_int_equal(sendto(fd, p, len, 0, &a.sa, alen), len);
}

size_t make_packet(uint8_t *out, const char *from, uint16_t sport, const char *to, uint16_t id,
		   uint32_t qpn, uint32_t psn, uint32_t payload_len)
{
	struct adv_gid s = gid_of(from), d = gid_of(to);
	struct adv_icrc_flow flow = {
		.ipv4 = adv_gid_is_ipv4(&s),
		.sport = sport,
		.dport = ADV_ROCE_UDP_PORT,
	};
	size_t body = ADV_BTH_LEN + ((payload_len + 3) & ~3u);
	unsigned skip = flow.ipv4 ? 12 : 0;
	uint32_t icrc;

	memcpy(flow.saddr, s.raw + skip, 16 - skip);
	memcpy(flow.daddr, d.raw + skip, 16 - skip);
	memset(out, 0, body);
	fill_bth(out, qpn, psn, payload_len);
	for (uint32_t i = 0; i < payload_len; i++)
		out[ADV_BTH_LEN + i] = pattern(psn, i);
	icrc = adv_icrc_finish(adv_icrc_begin(&flow, id, body + ADV_ICRC_LEN), out, body);
	for (unsigned i = 0; i < ADV_ICRC_LEN; i++)
		out[body + i] = (uint8_t)(icrc >> (8 * i));
	return body + ADV_ICRC_LEN;
}

unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}
