/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process's side of a port of an emulated fabric. If the ring to the emulator is full, because
 * the host's cable is busy or paused, the link keeps the packets of the batch and accepts no other
 * batch. The program's sending stops then, as behind a NIC that receives PAUSE frames.
 */
#include "runtime/link/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/link/port_clock.h"
#include "runtime/link/ring.h"

#define PACKET_MAX   (ADV_HEADERS_MAX + 4096u + 4u)
#define ANSWER_WAIT  5000 /* ms; the emulator may be busy */
#define INNER_EVERY  32	  /* a busy poller checks the inner link once in this number of calls */
#define FILL_MOST    64	  /* messages that make the room socket unwritable, at most */
#define MEMORY_LIMIT (32u << 20)
/* An emulator that is late for so long, ns, may have exited ... */
#define LATE 200000000ull
/* ... and the process looks for that once in this time, ns. */
#define LOOK_EVERY 100000000ull

/* A packet for which the ring had no room. */
struct kept {
	struct adv_path path;
	enum adv_ecn ecn;
	uint32_t icrc_flip;
	uint32_t len;
	uint8_t bytes[PACKET_MAX];
};

struct port_link {
	struct adv_link link;
	struct adv_link *inner;
	struct adv_port_place place;
	int sock; /* to the emulator */
	int room;
	bool own_bell; /* the bell is not that of the inner link */
	bool gone;     /* the emulator has exited: packets are dropped */
	uint8_t *memory;
	size_t memory_len;
	struct adv_port_flag *flag;
	struct adv_port_clock clock;
	_Atomic uint64_t look_at; /* time to look for the end of a late emulator, ns */
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	unsigned calls; /* of receive() since the inner link was checked */
	unsigned kept_first;
	unsigned kept_end; /* kept[kept_first .. kept_end) wait */
	struct kept kept[ADV_TX_BATCH_PACKETS];
};

static struct port_link *port_of(struct adv_link *link)
{
	return adv_container_of(link, struct port_link, link);
}

/* ---- send ---- */

enum way { BY_FABRIC, BY_INNER, NOWHERE };

static bool is_loopback(const struct adv_gid *g)
{
	static const struct adv_gid one = {.raw = {[15] = 1}};

	return adv_gid_is_ipv4(g) ? g->raw[12] == 127 : adv_gid_equal(g, &one);
}

static enum way way_of(const struct port_link *l, const struct adv_gid *dgid)
{
	uint32_t host = adv_port_host_of(&l->place, dgid);

	if (host == l->place.host || is_loopback(dgid) || adv_gid_is_multicast(dgid))
		return BY_INNER;
	return host == UINT32_MAX ? NOWHERE : BY_FABRIC;
}

static void count_sent(struct port_link *l, uint32_t len)
{
	l->link.counters.tx_packets++;
	l->link.counters.tx_bytes += len + ADV_ICRC_LEN;
}

static void wake_emulator(struct port_link *l)
{
	adv_bell_name bell;

	if (adv_ring_must_wake(&l->writer, &bell))
		adv_bell_ring(l->link.bell_fd, bell);
}

/* Copies the packet. */
static void keep_packet(struct port_link *l, const struct adv_tx_packet *pkt)
{
	struct kept *k = &l->kept[l->kept_end++];
	uint8_t *at = k->bytes;

	k->path = *pkt->path;
	k->ecn = pkt->ecn;
	k->icrc_flip = pkt->icrc_flip;
	memcpy(at, pkt->header, pkt->header_len);
	at += pkt->header_len;
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		memcpy(at, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		at += pkt->iov[i].iov_len;
	}
	memset(at, 0, pkt->pad);
	k->len = (uint32_t)(at + pkt->pad - k->bytes);
}

/* Writes the packet into the ring. False: there is no room. */
static bool put_in_ring(struct port_link *l, const struct adv_tx_packet *pkt)
{
	struct adv_path path;
	struct adv_tx_packet v1;

	if (!pkt->path->v1)
		return adv_ring_put(&l->writer, pkt);
	path = *pkt->path;
	path.sport = adv_port_v1_sport(path.sl);
	v1 = *pkt;
	v1.path = &path;
	v1.ecn = ADV_ECN_NOT_ECT; /* without IP there are no marks */
	return adv_ring_put(&l->writer, &v1);
}

static bool put_kept(struct port_link *l, struct kept *k)
{
	struct iovec iov = {k->bytes + ADV_BTH_LEN, k->len - ADV_BTH_LEN};
	struct adv_tx_packet pkt = {.path = &k->path,
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = (uint32_t)iov.iov_len,
				    .ecn = k->ecn,
				    .icrc_flip = k->icrc_flip};

	memcpy(pkt.header, k->bytes, ADV_BTH_LEN);
	return put_in_ring(l, &pkt);
}

static bool emulator_has_exited(const struct port_link *l)
{
	uint8_t byte;

	return adv_sys_recvfrom(l->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL, NULL) == 0;
}

/* Drops the kept packets if the emulator has exited. */
static void look_for_emulator(struct port_link *l)
{
	if (!emulator_has_exited(l))
		return;
	adv_warn("the emulator of the fabric has exited");
	l->gone = true;
	l->link.counters.tx_dropped += l->kept_end - l->kept_first;
	l->kept_first = l->kept_end = 0;
}

/* Puts the kept packets into the ring. True if all are in it. */
static bool put_all_kept(struct port_link *l)
{
	unsigned before = l->kept_first;

	while (l->kept_first < l->kept_end && put_kept(l, &l->kept[l->kept_first]))
		count_sent(l, l->kept[l->kept_first++].len);
	if (l->kept_first != before)
		wake_emulator(l);
	if (l->kept_first < l->kept_end)
		return false;
	l->kept_first = l->kept_end = 0;
	return true;
}

/* Makes the room socket unwritable, until the emulator empties it. */
static void fill_room(struct port_link *l)
{
	struct pollfd p = {.fd = l->room, .events = POLLOUT};

	for (unsigned i = 0; i < FILL_MOST; i++) {
		if (adv_sys_poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
			break;
		if (adv_sys_sendto(l->room, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) != 1)
			break;
	}
	atomic_store_explicit(&l->flag->full, 1, memory_order_release);
	/* Pairs with the emulator, which shows its tail first and then reads the flag. */
	atomic_thread_fence(memory_order_seq_cst);
}

/* True if no packet is kept. Otherwise the link's send_fd is the room socket. */
static bool empty_kept(struct port_link *l)
{
	if (l->kept_first == l->kept_end || put_all_kept(l))
		return true;
	/* Also if the flag is set: an emulator that was preempted may have emptied the socket
	 * since. */
	fill_room(l);
	if (put_all_kept(l))
		return true;
	look_for_emulator(l);
	return l->kept_first == l->kept_end;
}

static void put_packet(struct port_link *l, const struct adv_tx_packet *pkt)
{
	uint32_t len = pkt->header_len + pkt->payload_len + pkt->pad;

	if (l->gone || pkt->more || len > PACKET_MAX) {
		l->link.counters.tx_dropped++;
		return;
	}
	if (l->kept_end == l->kept_first && put_in_ring(l, pkt)) {
		count_sent(l, len);
		return;
	}
	keep_packet(l, pkt);
}

/* Puts packets into the ring. Returns the number of those for the inner link, which are the first
 * of the batch. */
static unsigned put_batch(struct port_link *l, struct adv_tx_batch *batch)
{
	unsigned others = 0;
	bool written = false;

	for (unsigned i = 0; i < batch->count; i++) {
		const struct adv_tx_packet *pkt = &batch->packet[i];
		enum way way = way_of(l, &pkt->path->dgid);

		if (way == BY_FABRIC) {
			put_packet(l, pkt);
			written = true;
		} else if (way == NOWHERE) {
			l->link.counters.tx_dropped++;
		} else if (others++ != i) {
			batch->packet[others - 1] = *pkt;
		}
	}
	if (written)
		wake_emulator(l);
	return others;
}

static bool port_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct port_link *l = port_of(link);
	bool room = true;

	batch->count = put_batch(l, batch);
	if (batch->count)
		room = l->inner->ops->send(l->inner, batch);
	if (!room) {
		link->send_fd = l->inner->send_fd;
		(void)empty_kept(l);
		return false;
	}
	if (empty_kept(l)) {
		link->send_fd = -1;
		return true;
	}
	link->counters.tx_blocked++;
	link->send_fd = l->room;
	return false;
}

static bool port_flush(struct adv_link *link)
{
	struct port_link *l = port_of(link);

	link->send_fd = -1;
	if (!empty_kept(l)) {
		link->send_fd = l->room;
		return false;
	}
	if (l->inner->send_fd < 0 || l->inner->ops->flush(l->inner))
		return true;
	link->send_fd = l->inner->send_fd;
	return false;
}

/* ---- receive ---- */

/* The emulator is trusted, but addresses come from programs of other hosts. */
static bool check_sender(void *user, struct adv_rx_meta *meta)
{
	const struct port_link *l = user;

	meta->slot = 0;
	if (adv_port_sport_is_v1(meta->sport)) {
		meta->slot = ADV_RX_V1;
		meta->sport = 0;
	}
	return adv_port_host_of(&l->place, &meta->sgid) < l->place.hosts &&
	       adv_port_host_of(&l->place, &meta->dgid) == l->place.host;
}

static unsigned port_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct port_link *l = port_of(link);
	unsigned packets = 0;

	while (packets < budget && !link->enough &&
	       adv_ring_get(&l->reader, 1, fn, user, &link->counters))
		packets++;
	if (link->enough || packets == budget || (link->busy_polled && ++l->calls < INNER_EVERY))
		return packets;
	l->calls = 0;
	l->inner->enough = false;
	l->inner->busy_polled = link->busy_polled;
	return packets + l->inner->ops->receive(l->inner, budget - packets, fn, user);
}

static bool port_sleep(struct adv_link *link, bool sleeping)
{
	struct port_link *l = port_of(link);
	bool nothing = !l->inner->ops->sleep || l->inner->ops->sleep(l->inner, sleeping);

	adv_ring_sleep(&l->reader, sleeping);
	return nothing && !adv_ring_has(&l->reader);
}

/* ---- long packets stay within the host ---- */

static uint32_t port_long_payload(struct adv_link *link, const struct adv_path *path,
				  uint32_t dest_qpn, uint32_t length)
{
	struct port_link *l = port_of(link);

	if (way_of(l, &path->dgid) != BY_INNER || !l->inner->ops->long_payload)
		return 0;
	return l->inner->ops->long_payload(l->inner, path, dest_qpn, length);
}

static void port_recall(struct adv_link *link, const struct adv_path *path, const void *addr,
			uint64_t length)
{
	struct port_link *l = port_of(link);

	if (l->inner->ops->recall)
		l->inner->ops->recall(l->inner, path, addr, length);
}

static void port_accept_long(struct adv_link *link, bool accepts)
{
	struct port_link *l = port_of(link);

	if (l->inner->ops->accept_long)
		l->inner->ops->accept_long(l->inner, accepts);
}

static void port_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		     struct adv_link_way *way)
{
	struct port_link *l = port_of(link);

	/* A packet through the emulator looks like one by UDP: captures write Ethernet frames. */
	if (way_of(l, &pkt->path->dgid) == BY_INNER)
		adv_link_find_way(l->inner, pkt, way);
	else if (pkt->path->v1)
		*way = (struct adv_link_way){.v1 = true};
	else
		*way = (struct adv_link_way){.sport = pkt->path->sport};
}

/* ---- creation and destruction ---- */

static void release_port(struct port_link *l)
{
	if (l->memory)
		munmap(l->memory, l->memory_len);
	if (l->clock.time)
		munmap((void *)(uintptr_t)l->clock.time, sizeof(*l->clock.time));
	if (l->sock >= 0)
		adv_sys_close(l->sock);
	if (l->room >= 0)
		adv_sys_close(l->room);
	if (l->own_bell)
		adv_sys_close(l->link.bell_fd);
	free(l);
}

static void port_destroy(struct adv_link *link)
{
	struct port_link *l = port_of(link);
	struct adv_link *inner = l->inner;

	release_port(l);
	inner->ops->destroy(inner);
}

static const struct adv_link_ops port_ops = {
	.send = port_send,
	.flush = port_flush,
	.receive = port_receive,
	.sleep = port_sleep,
	.long_payload = port_long_payload,
	.recall = port_recall,
	.accept_long = port_accept_long,
	.way = port_way,
	.destroy = port_destroy,
};

static int send_request(int sock, enum adv_port_type type, uint32_t first, uint32_t count)
{
	struct adv_port_message m = {.type = type, .first = first, .count = count};

	return adv_port_send(sock, &m, NULL, 0);
}

static int receive_answer(int sock, struct adv_port_message *m, int fd[ADV_PORT_FDS])
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int error;

	if (adv_sys_poll(&p, 1, ANSWER_WAIT) != 1)
		return ETIMEDOUT;
	error = adv_port_receive(sock, m, fd, ADV_PORT_FDS, false);
	if (!error && m->error)
		error = (int)m->error;
	if (!error && fd[ADV_PORT_FDS - 1] < 0)
		error = EPROTO;
	for (unsigned i = 0; error && i < ADV_PORT_FDS; i++) {
		if (fd[i] >= 0)
			adv_sys_close(fd[i]);
		fd[i] = -1;
	}
	return error;
}

static bool is_ring_size(uint32_t size)
{
	return size >= ADV_RING_SIZE_MIN && size <= ADV_RING_SIZE_MAX && (size & (size - 1)) == 0;
}

/* Maps the memory. 0 or errno. */
static int map_memory(struct port_link *l, int fd)
{
	const struct adv_port_place *p = &l->place;
	struct stat st;

	if (!is_ring_size(p->tx_size) || !is_ring_size(p->rx_size) || p->host >= p->hosts ||
	    !p->numerator || !p->denominator)
		return EPROTO;
	l->memory_len = adv_port_memory_len(p);
	if (l->memory_len > MEMORY_LIMIT || fstat(fd, &st) < 0 ||
	    (uint64_t)st.st_size < l->memory_len)
		return EPROTO;
	l->memory = mmap(NULL, l->memory_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (l->memory == MAP_FAILED) {
		l->memory = NULL;
		return ENOMEM;
	}
	/* Only the owner of the rings may write them. */
	(void)madvise(l->memory, l->memory_len, MADV_DONTFORK);
	return 0;
}

/* Maps the memory of the clock. 0 or errno. */
static int map_clock(struct port_link *l, int fd)
{
	struct stat st;
	void *memory;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(*l->clock.time))
		return EPROTO;
	memory = mmap(NULL, sizeof(*l->clock.time), PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return ENOMEM;
	l->clock.time = memory;
	return 0;
}

static int start_rings(struct port_link *l)
{
	uint8_t *rx = l->memory + adv_ring_memory_len(l->place.tx_size);
	adv_bell_name bell = 0;

	if (l->inner->bell_fd > 0 && l->inner->ops->sleep) {
		l->link.bell_fd = l->inner->bell_fd;
		bell = adv_bell_name_of(l->inner->bell_fd);
	} else {
		l->link.bell_fd = adv_bell_open(&bell);
		l->own_bell = l->link.bell_fd >= 0;
	}
	if (!bell)
		return errno ? errno : EIO;
	l->flag = (struct adv_port_flag *)(void *)(rx + adv_ring_memory_len(l->place.rx_size));
	adv_ring_writer_init(&l->writer, l->memory, l->place.tx_size);
	adv_ring_reader_init(&l->reader, rx, l->place.rx_size, bell, check_sender, l);
	return 0;
}

static int attach_port(struct port_link *l, uint32_t first, uint32_t count)
{
	struct adv_port_message m;
	int fd[ADV_PORT_FDS] = {-1, -1, -1};
	int error;

	l->sock = adv_port_dial();
	if (l->sock < 0)
		return errno;
	error = send_request(l->sock, ADV_PORT_ATTACH, first, count);
	if (!error)
		error = receive_answer(l->sock, &m, fd);
	if (!error) {
		l->place = m.place;
		l->room = fd[ADV_PORT_ROOM];
		error = map_memory(l, fd[ADV_PORT_MEMORY]);
	}
	if (!error)
		error = map_clock(l, fd[ADV_PORT_TIME]);
	if (fd[ADV_PORT_MEMORY] >= 0)
		adv_sys_close(fd[ADV_PORT_MEMORY]);
	if (fd[ADV_PORT_TIME] >= 0)
		adv_sys_close(fd[ADV_PORT_TIME]);
	return error ? error : start_rings(l);
}

struct adv_link *adv_port_create(struct adv_link *inner, uint32_t first, uint32_t count)
{
	struct port_link *l = calloc(1, sizeof(*l));
	int error;

	if (!l)
		return NULL;
	l->sock = l->room = l->link.bell_fd = -1;
	l->inner = inner;
	error = attach_port(l, first, count);
	if (error) {
		release_port(l);
		errno = error;
		return NULL;
	}
	l->link.ops = &port_ops;
	l->link.receive_fd = inner->receive_fd;
	l->link.rx_window = inner->rx_window;
	l->link.send_fd = -1;
	l->link.inner = inner;
	return &l->link;
}

int adv_port_claim(struct adv_link *link, uint32_t first, uint32_t count)
{
	return send_request(port_of(link)->sock, ADV_PORT_CLAIM, first, count);
}

const struct adv_port_place *adv_port_place_of(const struct adv_link *link)
{
	return &port_of((struct adv_link *)(uintptr_t)link)->place;
}

/* An emulator that was killed keeps no promise. Its programs go on without it. */
static void look_for_end(struct port_link *l, uint64_t clock)
{
	uint64_t at = atomic_load_explicit(&l->look_at, memory_order_relaxed);

	if (clock < at ||
	    !atomic_compare_exchange_strong_explicit(&l->look_at, &at, clock + LOOK_EVERY,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	if (emulator_has_exited(l))
		adv_port_clock_end(&l->clock, clock);
}

uint64_t adv_port_now(struct adv_link *link, uint64_t clock)
{
	struct port_link *l = port_of(link);

	if (adv_port_clock_is_late(&l->clock, clock, LATE))
		look_for_end(l, clock);
	return adv_port_clock_at(&l->clock, clock);
}

bool adv_port_clock_has_stood(struct adv_link *link, uint64_t clock, uint64_t *behind)
{
	return adv_port_clock_stood(&port_of(link)->clock, clock, behind);
}

void adv_port_abandon(struct adv_link *link)
{
	struct port_link *l = port_of(link);

	adv_sys_close(l->sock);
	adv_sys_close(l->room);
	l->sock = l->room = -1; /* later descriptors have these numbers */
}

void adv_port_set_inner(struct adv_link *link, struct adv_link *inner)
{
	struct port_link *l = port_of(link);

	l->inner = inner;
	link->inner = inner;
	link->receive_fd = inner->receive_fd;
}
