/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attacker [-n packets] [-d daemon's name] [-s seed] [-f] qpn:qpn[:psn:psn]...
 *
 * An unprivileged process that attacks connections over 127.0.0.1. It knows both QP numbers and all
 * addresses and ports of a connection, but not its memory keys. It knows PSNs only if the caller
 * gives the first PSNs of a queue pair (sending, receiving).
 *
 * First it tries to bind the ports from which its victims send. Then it sends packets of every kind
 * with a right ICRC, every PSN in turn, from each source that it can use. It also sends bytes to
 * the daemon's socket. It waits for its victims, so that no packet is lost; with -f it floods them.
 *
 * Exit status: 0 if everything was sent; 1 if it could bind a victim's port, or an error occurred.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/rng.h"
#include "runtime/control/protocol.h"
#include "nic/wire/headers.h"
#include "nic/wire/icrc.h"
#include "nic/wire/mad.h"
#include "nic/wire/opcode.h"
#include "nic/wire/packet.h"

#define VICTIM	     "127.0.0.1"
#define SOURCES	     4
#define TARGETS	     64
#define BATCH	     32
#define PACKET_MAX   1200
#define PSN_STRIDE   16 /* packets: the sweep hits every window of this size */
#define PSN_GUESSES  64 /* PSNs tried after a known first PSN */
#define CONNECTIONS  40
#define CONTROL_EACH 64 /* batches */
#define LOOK_EACH    8
#define QUEUED_MOST  (1 << 20) /* bytes in a victim's socket, counted by the kernel */

struct target {
	uint32_t qpn;	/* the victim */
	uint32_t peer;	/* the victim's peer */
	uint32_t sends; /* the known first PSN of its requests */
	uint32_t receives;
	bool told;
};

struct attack {
	struct adv_rng dice;
	struct target target[TARGETS];
	unsigned targets;
	int source[SOURCES];
	uint16_t port[SOURCES];
	unsigned sources;
	uint32_t sweep; /* next PSN of the sweep, for all targets */
	const char *daemon;
	int connection[CONNECTIONS];
	unsigned turn;
	unsigned long messages;
	uint8_t bytes[BATCH][PACKET_MAX];
	struct iovec iov[BATCH];
	struct mmsghdr mmsg[BATCH];
	char control[BATCH][CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static uint32_t below(struct attack *a, uint32_t n)
{
	return (uint32_t)adv_rng_below(&a->dice, n);
}

static void fill_random(struct attack *a, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)adv_rng_next(&a->dice);
}

/* ---- sources ---- */

static int bind_udp(const char *address, uint16_t port, uint16_t *bound)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1, discover = IP_PMTUDISC_DO;
	socklen_t len = sizeof(to);

	inet_pton(AF_INET, address, &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover));
	if (fd < 0 || bind(fd, (void *)&to, sizeof(to)) < 0 ||
	    getsockname(fd, (void *)&to, &len) < 0) {
		close(fd);
		return -1;
	}
	*bound = ntohs(to.sin_port);
	return fd;
}

static void add_source(struct attack *a, const char *address, uint16_t port)
{
	int fd = a->sources < SOURCES ? bind_udp(address, port, &a->port[a->sources]) : -1;

	if (fd >= 0)
		a->source[a->sources++] = fd;
}

/* Tries to bind the ports of other processes' sockets. Returns the number of bound ports. */
static unsigned take_ports(struct attack *a, const char *table, unsigned *tried)
{
	FILE *f = fopen(table, "re");
	char line[512];
	unsigned taken = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char address[40];
		unsigned port;

		if (sscanf(line, " %*u: %39[0-9A-F]:%4X", address, &port) != 2 ||
		    port == ADV_ROCE_UDP_PORT || port == 0)
			continue;
		/* A port bound to one address is no proof to receivers, so it is useless. */
		if (strspn(address, "0") != strlen(address))
			continue;
		(*tried)++;
		add_source(a, "127.0.0.2", (uint16_t)port);
		taken += a->sources && a->port[a->sources - 1] == port;
	}
	if (f)
		fclose(f);
	return taken;
}

/* ---- packets ---- */

static void finish(const struct attack *a, unsigned source, uint8_t *p, size_t body)
{
	struct adv_icrc_flow flow = {
		.ipv4 = true, .sport = a->port[source], .dport = ADV_ROCE_UDP_PORT};
	uint32_t icrc;

	inet_pton(AF_INET, VICTIM, flow.saddr);
	inet_pton(AF_INET, VICTIM, flow.daddr);
	icrc = adv_icrc_finish(adv_icrc_begin(&flow, 0, body + ADV_ICRC_LEN), p, body);
	for (unsigned i = 0; i < ADV_ICRC_LEN; i++)
		p[body + i] = (uint8_t)(icrc >> 8 * i);
}

static void fill_headers(struct attack *a, const struct target *t, struct adv_headers *h)
{
	fill_random(a, (uint8_t *)h, sizeof(*h));
	memset(&h->bth, 0, sizeof(h->bth));
	h->bth.pkey = ADV_PKEY_DEFAULT;
	h->bth.dest_qpn = t->qpn;
	h->bth.psn = below(a, ADV_PSN_MASK + 1);
	h->bth.ackreq = below(a, 2);
	h->deth.src_qpn = t->peer;
	h->reth.length = below(a, 4097);
}

/* Writes a packet that would end or stall a connection if the victim accepted it. Uses each PSN in
 * turn. */
static size_t answer(struct attack *a, const struct target *t, uint8_t *p)
{
	static const uint8_t syndromes[] = {0x62, 0x61, 0x63, 0x60, 0x3f, 0x1f};
	struct adv_headers h;

	fill_headers(a, t, &h);
	h.bth.opcode = ADV_SERVICE_RC | ADV_OP_ACKNOWLEDGE;
	h.bth.psn = (a->sweep += PSN_STRIDE) & ADV_PSN_MASK;
	if (t->told)
		h.bth.psn = adv_psn_add(t->sends, below(a, PSN_GUESSES));
	h.aeth.syndrome = syndromes[below(a, sizeof(syndromes))];
	return adv_headers_encode(&h, p);
}

/* Writes a packet of any opcode. */
static size_t request(struct attack *a, const struct target *t, uint8_t *p)
{
	struct adv_headers h;
	size_t n, payload;

	fill_headers(a, t, &h);
	do
		h.bth.opcode = (uint8_t)(below(a, 4) ? below(a, 32) : below(a, 256));
	while (!adv_opcode_table[h.bth.opcode].name);
	if (t->told)
		h.bth.psn = adv_psn_add(t->receives, below(a, PSN_GUESSES));
	n = adv_headers_encode(&h, p);
	payload = adv_opcode_table[h.bth.opcode].flags & ADV_PKT_PAYLOAD ? 4 * below(a, 257) : 0;
	fill_random(a, p + n, payload);
	return n + payload;
}

/* Writes a CM message to QP 1 of the daemon. */
static size_t management(struct attack *a, const struct target *t, uint8_t *p)
{
	struct adv_headers h;
	size_t n;

	fill_headers(a, t, &h);
	h.bth.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY;
	h.bth.dest_qpn = h.deth.src_qpn = ADV_GSI_QPN;
	h.deth.qkey = ADV_GSI_QKEY;
	n = adv_headers_encode(&h, p);
	fill_random(a, p + n, ADV_MAD_LEN);
	memcpy(p + n, (uint8_t[]){1, 7, 2, 3, 0, 0, 0, 0}, 8);
	memcpy(p + n + 16, (uint8_t[]){0, (uint8_t)(0x10 + below(a, 12)), 0, 0}, 4);
	/* A stale connection (12.9.8.3.1): a REQ of the peer's queue pair. */
	p[n + 24 + 32] = (uint8_t)(t->peer >> 16);
	p[n + 24 + 33] = (uint8_t)(t->peer >> 8);
	p[n + 24 + 34] = (uint8_t)t->peer;
	return n + ADV_MAD_LEN;
}

/* Writes a packet of the flow control of UC and UD, a CNP, or garbage. */
static size_t other(struct attack *a, const struct target *t, uint8_t *p)
{
	static const uint8_t opcodes[] = {ADV_OPCODE_PROBE, ADV_OPCODE_ANSWER, ADV_OPCODE_CNP};
	struct adv_headers h;
	size_t n = ADV_BTH_LEN + 4 * below(a, 257);

	if (below(a, 3) == 0) {
		fill_random(a, p, n);
		p[5] = (uint8_t)(t->qpn >> 16);
		return n;
	}
	fill_headers(a, t, &h);
	h.bth.opcode = opcodes[below(a, sizeof(opcodes))];
	memset(p, 0, 64);
	n = adv_headers_encode(&h, p);
	return n ? n : ADV_BTH_LEN + 16;
}

static void send_batch(struct attack *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ADV_ROCE_UDP_PORT)};
	unsigned source = below(a, a->sources), sent = 0;
	int tos = below(a, 4) ? 0 : ADV_ECN_CE; /* a quarter with a CE mark */
	struct in_pktinfo from = {0};

	setsockopt(a->source[source], IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	inet_pton(AF_INET, VICTIM, &to.sin_addr);
	from.ipi_spec_dst = to.sin_addr;
	for (unsigned i = 0; i < BATCH; i++) {
		struct msghdr *m = &a->mmsg[i].msg_hdr;
		struct cmsghdr *c = (struct cmsghdr *)(void *)a->control[i];
		const struct target *t = &a->target[below(a, a->targets)];
		uint32_t kind = below(a, 100);
		size_t n = (kind < 50	? answer
			    : kind < 80 ? request
			    : kind < 90 ? management
					: other)(a, t, a->bytes[i]);

		finish(a, source, a->bytes[i], n);
		if (below(a, 100) == 0)
			a->bytes[i][below(a, (uint32_t)n)] ^= 1; /* damages some packets */
		a->iov[i] = (struct iovec){a->bytes[i], n + ADV_ICRC_LEN};
		*c = (struct cmsghdr){CMSG_LEN(sizeof(from)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &from, sizeof(from));
		*m = (struct msghdr){&to, sizeof(to), &a->iov[i], 1, c, sizeof(a->control[i]), 0};
	}
	while (sent < BATCH) {
		int n = sendmmsg(a->source[source], a->mmsg + sent, BATCH - sent, 0);

		sent += n > 0 ? (unsigned)n : 1;
	}
}

/* True if a socket of port 4791 has much unread data. */
static bool is_behind(const char *table)
{
	FILE *f = fopen(table, "re");
	bool behind = false;
	char line[512];

	while (f && !behind && fgets(line, sizeof(line), f)) {
		unsigned port, queued;

		behind = sscanf(line, " %*u: %*[0-9A-F]:%4X %*[0-9A-F]:%*X %*X %*X:%X", &port,
				&queued) == 2 &&
			 port == ADV_ROCE_UDP_PORT && queued > QUEUED_MOST;
	}
	if (f)
		fclose(f);
	return behind;
}

static void wait_for_victims(void)
{
	for (int i = 0; i < 2000 && (is_behind("/proc/net/udp") || is_behind("/proc/net/udp6"));
	     i++)
		usleep(1000);
}

/* ---- the daemon's socket ---- */

static void bother_daemon(struct attack *a)
{
	struct adv_control_message m;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(a->daemon);
	int *fd = &a->connection[a->turn++ % CONNECTIONS];

	if (*fd >= 0)
		close(*fd);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	memcpy(to.sun_path + 1, a->daemon, len);
	if (*fd < 0 || connect(*fd, (void *)&to,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) < 0)
		return;
	fill_random(a, (uint8_t *)&m, sizeof(m));
	for (unsigned i = below(a, 20); i-- > 0; a->messages++) {
		m.magic = ADV_CONTROL_MAGIC;
		m.version = ADV_CONTROL_VERSION;
		m.type = (uint16_t)(i % 2 ? below(a, 12) : ADV_CONTROL_HELLO);
		m.body.slot.slot = below(a, 5000);
		/* This program requests no slots. */
		if (m.type == ADV_CONTROL_OPEN_SLOT)
			m.type = ADV_CONTROL_STATUS;
		(void)!send(*fd, &m, below(a, 8) ? sizeof(m) : below(a, sizeof(m)), MSG_NOSIGNAL);
	}
}

static int read_targets(struct attack *a, char **argv)
{
	for (; *argv && a->targets < TARGETS; argv++) {
		struct target *t = &a->target[a->targets++];

		int n = sscanf(*argv, "%x:%x:%x:%x", &t->qpn, &t->peer, &t->sends, &t->receives);

		if (n != 2 && n != 4)
			return -1;
		t->told = n == 4;
	}
	return a->targets ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct attack a;
	unsigned long packets = 100000, sent = 0;
	unsigned tried = 0, taken;
	bool flood = false;
	uint64_t seed = 1;
	int option;

	while ((option = getopt(argc, argv, "n:d:s:f")) != -1) {
		if (option == 'n')
			packets = strtoul(optarg, NULL, 0);
		else if (option == 'd')
			a.daemon = optarg;
		else if (option == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (option == 'f')
			flood = true;
		else
			return 1;
	}
	if (read_targets(&a, argv + optind))
		return 1;
	adv_rng_seed(&a.dice, seed);
	memset(a.connection, -1, sizeof(a.connection));
	taken = take_ports(&a, "/proc/net/udp", &tried) + take_ports(&a, "/proc/net/udp6", &tried);
	add_source(&a, VICTIM, 0);
	add_source(&a, "127.0.0.2", 0);
	if (!a.sources)
		return 1;
	for (unsigned long i = 0; sent < packets; i++, sent += BATCH) {
		send_batch(&a);
		if (a.daemon && i % CONTROL_EACH == 0)
			bother_daemon(&a);
		if (!flood && i % LOOK_EACH == 0)
			wait_for_victims();
	}
	printf("%lu packets and %lu messages to the daemon sent; %u of %u ports taken\n", sent,
	       a.messages, taken, tried);
	return taken ? 1 : 0;
}
