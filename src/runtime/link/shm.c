/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets between processes of one machine go through memory, all others by UDP. */
#include "runtime/link/shm.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/link/ring.h"
#include "runtime/link/udp.h"
#include "nic/wire/slot.h"

#define PEERS 2048 /* peers attached at once; packets to others go by UDP */
/* Ns after which the peer is assumed to have read a packet sent by UDP. */
#define SETTLE 2000000ull
/* Ns for which packets wait in memory that the peer has not mapped yet. */
#define READER_WAIT 100000000ull
/* Ns for which a peer may continue to read recalled payload. */
#define RECALL_WAIT  1000000000ull
#define UDP_EARLIER  1	 /* value of shm_link.udp_last */
#define DRAIN_CALLS  256 /* of receive(), before the first packet from memory */
#define DRAIN_BUDGET 64
#define UDP_EVERY    32	  /* a busy poller checks the socket once in this number of calls ... */
#define QUIET_CALLS  4096 /* ... until this number of calls in a row find no packet in memory */
#define UDP_SPACED   6	  /* in this number if the calls are spaced: that is 6 us, idle.c */

struct shm_link;

struct shm_peer {
	const struct shm_link *link;
	struct adv_ring_writer writer;
	struct adv_ring_reader reader;
	struct adv_pull_peer pull; /* the peer's process, if its memory can be read */
	pid_t pid;		   /* 0: the peer's memory must not be read */
	bool met;		   /* the first packet came; adv_pull_meet() was called */
	uint8_t *memory;
	size_t memory_len;
	uint16_t slot;
	bool settling;	/* has_settled() has to check */
	bool withdrawn; /* the peer was late: packets go by UDP until it maps the memory */
	bool leaving;	/* the peer has exited, or its ring is broken */
	bool exited;	/* the peer has exited */
	uint64_t last;	/* a leaving peer is read up to this tail */
	bool written;	/* the current batch has packets for this peer */
	uint64_t since; /* when this side attached the memory, ns */
};

struct shm_link {
	struct adv_link link;
	struct adv_link *udp;
	uint64_t (*clock)(void);
	const _Atomic uint16_t *home; /* slot by prefix; NULL: each slot owns its prefix */
	adv_bell_name bell;
	struct adv_pull_page page;
	struct shm_peer *of_slot[ADV_SLOTS];
	struct shm_peer *peer[PEERS]; /* all peers */
	unsigned count;
	unsigned first;	      /* index of the peer to read first; each call advances it */
	unsigned calls;	      /* calls since the socket was checked */
	unsigned quiet_calls; /* calls since the last packet through memory */
	bool any_leaves;      /* some peer is `leaving` */
	bool sleeping;	      /* the owner sleeps */
	bool refuses_long;    /* peers must not send long packets */
	/* Time of the last packet by UDP to a slot, also of another machine; 0: none. UDP_EARLIER:
	 * the slot has no peer, and the time does not matter yet. */
	uint64_t udp_last[ADV_SLOTS];
};

static struct shm_link *shm_of(struct adv_link *link)
{
	return adv_container_of(link, struct shm_link, link);
}

/* ---- sending ---- */

/*
 * True if packets may wait in the memory until the peer maps it. The peer maps it after adverbd has
 * answered the peer's request. Packets wait for READER_WAIT at most, because adverbd may be
 * stopped.
 */
static bool may_wait_for_reader(struct shm_peer *p, uint64_t now)
{
	if (now - p->since < READER_WAIT)
		return true;
	p->withdrawn = p->withdrawn || adv_ring_withdraw(&p->writer);
	return !p->withdrawn;
}

/* False while packets to the peer have to go by UDP, for one of two reasons. The peer may not have
 * read earlier UDP packets, which packets through memory would overtake. Or the peer has not mapped
 * the memory in time. */
static bool has_settled(struct shm_link *l, struct shm_peer *p)
{
	uint64_t last = l->udp_last[p->slot], now;

	if (!p->settling)
		return true;
	now = l->clock();
	if (last && now - last < SETTLE)
		return false;
	if (!adv_ring_has_reader(&p->writer))
		return may_wait_for_reader(p, now);
	p->settling = false;
	return true;
}

/* Returns the slot that owns the QP number; 0: none. */
static uint16_t home_of(const struct shm_link *l, uint32_t qpn)
{
	uint16_t prefix = adv_qpn_prefix(qpn & ADV_QPN_MASK);
	uint16_t slot =
		l->home ? atomic_load_explicit(&l->home[prefix], memory_order_relaxed) : prefix;

	return slot < ADV_SLOTS ? slot : 0;
}

/* Returns the peer that has the packet's destination QP number; NULL: the packet goes by UDP. */
static inline struct shm_peer *peer_of(struct shm_link *l, const struct adv_tx_packet *pkt)
{
	uint16_t slot = home_of(l, pkt->dest_qpn);

	if (!l->of_slot[slot])
		l->udp_last[slot] = UDP_EARLIER;
	return l->of_slot[slot];
}

/* Returns the peer through whose memory this packet goes; NULL: the packet goes by UDP. */
static struct shm_peer *route_packet(struct shm_link *l, const struct adv_tx_packet *pkt)
{
	struct shm_peer *p = peer_of(l, pkt);

	if (!p)
		return NULL;
	if (!p->settling && adv_gid_equal(&pkt->path->dgid, &p->writer.meta.dgid))
		return p;
	if (!adv_udp_is_own_address(l->udp, &pkt->path->dgid))
		return NULL;
	if (has_settled(l, p))
		return p;
	l->udp_last[p->slot] = l->clock();
	return NULL;
}

/* True if route_packet() would return the peer. */
static bool would_use_memory(const struct shm_link *l, const struct shm_peer *p,
			     const struct adv_tx_packet *pkt)
{
	uint64_t last, now;

	if (!p || !adv_udp_is_own_address(l->udp, &pkt->path->dgid))
		return false;
	if (!p->settling)
		return true;
	last = l->udp_last[p->slot];
	now = l->clock();
	return (!last || now - last >= SETTLE) &&
	       (adv_ring_has_reader(&p->writer) || (now - p->since < READER_WAIT && !p->withdrawn));
}

static void shm_way(struct adv_link *link, const struct adv_tx_packet *pkt,
		    struct adv_link_way *way)
{
	struct shm_link *l = shm_of(link);

	/* A packet through memory carries the preferred source port, see adv_ring_put(). */
	if (would_use_memory(l, l->of_slot[home_of(l, pkt->dest_qpn)], pkt))
		*way = (struct adv_link_way){.memory = true, .sport = pkt->path->sport};
	else
		l->udp->ops->way(l->udp, pkt, way);
}

static inline void count_put(struct shm_link *l, struct shm_peer *p,
			     const struct adv_tx_packet *pkt, bool ok)
{
	if (!ok) {
		l->link.counters.tx_dropped++;
		return;
	}
	p->written = true;
	l->link.counters.tx_packets += 1 + pkt->more;
	l->link.counters.tx_bytes += pkt->header_len + pkt->payload_len + pkt->pad + ADV_ICRC_LEN +
				     pkt->more * ADV_LINK_MORE_BYTES;
}

/* Puts the packet into the peer's ring. Returns true if the next packet of the batch went with it:
 * mostly an ACK and the program's answer. */
static inline bool put_packet(struct shm_link *l, struct shm_peer *p,
			      const struct adv_tx_packet *pkt, const struct adv_tx_packet *end)
{
	const struct adv_tx_packet *next = pkt + 1;
	bool ok;

	if (next == end || next->dest_qpn != pkt->dest_qpn || !adv_ring_may_lead(pkt, next)) {
		count_put(l, p, pkt, adv_ring_put(&p->writer, pkt));
		return false;
	}
	ok = adv_ring_put_led(&p->writer, pkt, next);
	count_put(l, p, pkt, ok);
	count_put(l, p, next, ok);
	return true;
}

static void wake_readers(struct shm_link *l)
{
	adv_bell_name bell;

	for (unsigned i = 0; i < l->count; i++) {
		struct shm_peer *p = l->peer[i];

		if (!p->written)
			continue;
		p->written = false;
		if (adv_ring_must_wake(&p->writer, &bell))
			adv_bell_ring(l->link.bell_fd, bell);
	}
}

/* Passes packets to UDP. */
static bool send_by_udp(struct shm_link *l, struct adv_tx_batch *batch)
{
	bool room = l->udp->ops->send(l->udp, batch);

	if (!room)
		l->link.send_fd = l->udp->send_fd;
	return room;
}

/* Puts packets into rings. Returns the number of those that go by UDP, the first of the batch. */
static __attribute__((noinline)) unsigned fill_rings(struct shm_link *l, struct adv_tx_batch *batch)
{
	unsigned others = 0;

	for (unsigned i = 0; i < batch->count; i++) {
		struct adv_tx_packet *pkt = &batch->packet[i];
		struct shm_peer *p = route_packet(l, pkt);

		if (p)
			i += put_packet(l, p, pkt, batch->packet + batch->count);
		else if (pkt->more) /* a process left since shm_long_payload(): rare */
			l->link.counters.tx_dropped++;
		else if (others++ != i)
			batch->packet[others - 1] = *pkt;
	}
	if (others < batch->count)
		wake_readers(l);
	return others;
}

/* True if no packet of the batch is for a peer. Mostly all packets are for one queue pair. */
static __attribute__((noinline)) bool has_no_peer(struct shm_link *l,
						  const struct adv_tx_batch *batch)
{
	const struct adv_tx_packet *pkt = batch->packet, *end = pkt + batch->count;
	uint32_t qpn;

	do {
		qpn = pkt->dest_qpn;
		if (peer_of(l, pkt))
			return false;
		while (!pkt->more && ++pkt != end && pkt->dest_qpn == qpn)
			;
	} while (pkt != end && !pkt->more);
	return pkt == end;
}

static bool shm_send(struct adv_link *link, struct adv_tx_batch *batch)
{
	struct shm_link *l = shm_of(link);

	l->link.send_fd = -1;
	if (batch->count == 1 ? !batch->packet[0].more && !peer_of(l, &batch->packet[0])
			      : has_no_peer(l, batch))
		return send_by_udp(l, batch);
	batch->count = fill_rings(l, batch);
	return batch->count == 0 || send_by_udp(l, batch);
}

/* ---- long packets ---- */

static uint32_t shm_long_payload(struct adv_link *link, const struct adv_path *path,
				 uint32_t dest_qpn, uint32_t length)
{
	const struct shm_link *l = shm_of(link);
	const struct shm_peer *p = l->of_slot[home_of(l, dest_qpn)];

	/* The packet is written before the lock is released, to the same peer: see route_packet().
	 */
	if (!p || p->settling || !adv_gid_equal(&path->dgid, &p->writer.meta.dgid))
		return 0;
	return adv_ring_long_payload(&p->writer, length);
}

/* Recalls packets to one peer. The peer's process may be stopped while it reads; then it gets the
 * memory's later contents, which harms its own message only. */
static void recall_from(struct shm_link *l, struct shm_peer *p, const struct adv_path *path,
			uintptr_t low, uintptr_t high)
{
	uint64_t until;

	if (adv_ring_recall(&p->writer, path, low, high))
		return;
	until = l->clock() + RECALL_WAIT;
	while (!adv_ring_recall(&p->writer, path, low, high) && l->clock() < until)
		sched_yield();
}

static void shm_recall(struct adv_link *link, const struct adv_path *path, const void *addr,
		       uint64_t length)
{
	struct shm_link *l = shm_of(link);

	for (unsigned i = 0; i < l->count; i++)
		recall_from(l, l->peer[i], path, (uintptr_t)addr, (uintptr_t)addr + length);
}

static bool shm_flush(struct adv_link *link)
{
	struct shm_link *l = shm_of(link);
	bool room = l->udp->ops->flush(l->udp);

	l->link.send_fd = l->udp->send_fd;
	return room;
}

/* ---- receiving ---- */

static void retire_peer(struct shm_link *l, struct shm_peer *p)
{
	/* Behind a hole in the memory, the writer is up to two memories ahead of the reader. */
	if (!p->leaving)
		p->last = p->reader.tail + 2 * (uint64_t)p->reader.size;
	p->leaving = true;
	l->any_leaves = true;
	if (l->of_slot[p->slot] == p)
		l->of_slot[p->slot] = NULL;
}

static void free_peer(struct shm_link *l, unsigned i)
{
	struct shm_peer *p = l->peer[i];

	retire_peer(l, p);
	if (!p->exited)
		recall_from(l, p, NULL, 0, UINTPTR_MAX);
	l->peer[i] = l->peer[--l->count];
	munmap(p->memory, p->memory_len);
	free(p);
}

/* Accepts only addresses of this machine. Overwrites the slot with the peer's real slot. */
static bool check_sender(void *user, struct adv_rx_meta *meta)
{
	const struct shm_peer *p = user;
	const struct shm_link *l = p->link;

	meta->slot = (uint16_t)(1 + p->slot);
	return adv_udp_is_own_address(l->udp, &meta->sgid) &&
	       adv_udp_is_own_address(l->udp, &meta->dgid);
}

static void shm_accept_long(struct adv_link *link, bool accepts)
{
	struct shm_link *l = shm_of(link);

	l->refuses_long = !accepts;
	for (unsigned i = 0; i < l->count; i++)
		adv_ring_accept(&l->peer[i]->reader, accepts);
}

/* Finds out whether the peer's memory can be read. The peer has shown its token before its first
 * packet. */
static __attribute__((noinline)) void meet_peer(struct shm_peer *p)
{
	p->met = true;
	if (!p->pid || !adv_pull_meet(&p->pull, p->pid, &p->reader.memory->sign))
		return;
	adv_ring_set_peer(&p->reader, &p->pull);
	adv_info("payload from slot %u is read from process %d", p->slot, (int)p->pid);
}

/* Receives what waits in the socket. False: more may wait, because the owner has enough or there is
 * no end of it. */
static __attribute__((noinline)) bool drain_socket(struct shm_link *l, unsigned *packets,
						   adv_link_rx_fn *fn, void *user)
{
	for (unsigned calls = 0; calls < DRAIN_CALLS && !l->link.enough; calls++) {
		unsigned n = l->udp->ops->receive(l->udp, DRAIN_BUDGET, fn, user);

		if (n == 0)
			return true;
		*packets += n;
	}
	return false;
}

static unsigned receive_ring(struct shm_link *l, struct shm_peer *p, unsigned budget,
			     adv_link_rx_fn *fn, void *user)
{
	const uint64_t *count = &l->link.counters.rx_packets;
	uint64_t first = *count;
	unsigned packets = 0;

	/* The first packet from this memory must not overtake the peer's earlier ones by UDP. */
	if (!p->met && adv_ring_has(&p->reader) && !drain_socket(l, &packets, fn, user))
		return packets;
	/* rx_packets counts a long packet as the packets that it stands for. */
	while (*count - first < budget && !l->link.enough &&
	       adv_ring_get(&p->reader, 1, fn, user, &l->link.counters))
		packets++;
	if (packets && !p->met)
		meet_peer(p);
	return packets;
}

/* Frees leaving peers whose memory is empty. Also frees those whose tail has moved by two memories,
 * because a process may still write to the memory. */
static void free_leaving(struct shm_link *l)
{
	l->any_leaves = false;
	for (unsigned i = l->count; i-- > 0;) {
		struct shm_peer *p = l->peer[i];

		if (p->leaving && (!adv_ring_has(&p->reader) || p->reader.tail >= p->last))
			free_peer(l, i);
		else if (p->leaving)
			l->any_leaves = true;
	}
}

static unsigned receive_rings(struct shm_link *l, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	unsigned packets = 0;

	if (++l->first >= l->count)
		l->first = 0;
	for (unsigned n = l->count, i = l->first; n > 0 && packets < budget; n--) {
		struct shm_peer *p = l->peer[i];

		packets += receive_ring(l, p, budget - packets, fn, user);
		if (p->reader.broken)
			retire_peer(l, p);
		if (++i >= l->count)
			i = 0;
	}
	if (l->any_leaves)
		free_leaving(l);
	return packets;
}

/* True if this call must check the socket. A system call that finds the socket empty costs more
 * than all other work for a message through memory. So a busy poller checks the socket rarely, and
 * more rarely if this call has found packets in memory. */
static bool must_check_socket(struct shm_link *l, unsigned packets)
{
	unsigned every = packets ? 4 * UDP_EVERY : l->link.spaced ? UDP_SPACED : UDP_EVERY;

	l->quiet_calls = packets || l->link.spaced ? 0 : l->quiet_calls + 1;
	if (l->link.busy_polled && l->quiet_calls < QUIET_CALLS && ++l->calls < every)
		return false;
	l->calls = 0;
	return true;
}

/* Receives from the rings, and by UDP if it is due. */
static __attribute__((noinline)) unsigned receive_both(struct shm_link *l, unsigned budget,
						       adv_link_rx_fn *fn, void *user)
{
	unsigned packets = receive_rings(l, budget, fn, user);

	if (!must_check_socket(l, packets))
		return packets;
	return packets + l->udp->ops->receive(l->udp, budget, fn, user);
}

static unsigned shm_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct shm_link *l = shm_of(link);

	if (l->count)
		return receive_both(l, budget, fn, user);
	return l->udp->ops->receive(l->udp, budget, fn, user);
}

static bool shm_sleep(struct adv_link *link, bool sleeping)
{
	struct shm_link *l = shm_of(link);
	bool nothing = true;

	l->sleeping = sleeping;
	for (unsigned i = 0; i < l->count; i++) {
		adv_ring_sleep(&l->peer[i]->reader, sleeping);
		nothing = nothing && !adv_ring_has(&l->peer[i]->reader);
	}
	return nothing;
}

/* ---- peers ---- */

static size_t pair_len(uint32_t size)
{
	return 2 * adv_ring_memory_len(size);
}

static bool prepare_memory(int fd, uint32_t size)
{
	static const struct adv_ring_memory start = ADV_RING_START;
	const off_t second = (off_t)adv_ring_memory_len(size);

	/* The size is sealed: otherwise one side could remove memory that the other accesses. */
	return syscall(SYS_ftruncate, fd, pair_len(size)) == 0 &&
	       syscall(SYS_pwrite64, fd, &start, sizeof(start), 0) == sizeof(start) &&
	       syscall(SYS_pwrite64, fd, &start, sizeof(start), second) == sizeof(start) &&
	       adv_sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

int adv_shm_pair_make(uint32_t size)
{
	int fd = (int)syscall(SYS_memfd_create, "adverb-pair", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0 || prepare_memory(fd, size))
		return fd;
	error = errno;
	adv_sys_close(fd);
	errno = error;
	return -1;
}

static bool is_pair_valid(const struct adv_shm_pair *pair)
{
	struct stat st;
	int seals = adv_sys_fcntl(pair->memory_fd, F_GET_SEALS, 0);

	return pair->size >= ADV_RING_SIZE_MIN && pair->size <= ADV_RING_SIZE_MAX &&
	       (pair->size & (pair->size - 1)) == 0 && pair->side <= 1 && seals >= 0 &&
	       (seals & F_SEAL_SHRINK) && fstat(pair->memory_fd, &st) == 0 &&
	       (uint64_t)st.st_size >= pair_len(pair->size);
}

/* Maps the memory of a pair. NULL with errno. */
static struct shm_peer *map_peer(struct shm_link *l, const struct adv_shm_pair *pair)
{
	size_t ring_len = adv_ring_memory_len(pair->size);
	struct shm_peer *p;

	if (!is_pair_valid(pair)) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->link = l;
	p->pid = pair->peer;
	p->memory_len = pair_len(pair->size);
	p->memory =
		mmap(NULL, p->memory_len, PROT_READ | PROT_WRITE, MAP_SHARED, pair->memory_fd, 0);
	if (p->memory == MAP_FAILED) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	adv_ring_writer_init(&p->writer, p->memory + pair->side * ring_len, pair->size);
	if (p->pid) {
		adv_pull_permit(p->pid);
		adv_pull_page_show(&l->page, &p->writer.memory->sign);
	}
	adv_ring_reader_init(&p->reader, p->memory + !pair->side * ring_len, pair->size, l->bell,
			     check_sender, p);
	return p;
}

/* Drops the earlier pairs of the slot, which may now belong to another process. Only the new memory
 * may deliver packets from this slot. */
static void drop_earlier_peers(struct shm_link *l, uint16_t slot)
{
	for (unsigned i = l->count; i-- > 0;)
		if (l->peer[i]->slot == slot)
			free_peer(l, i);
}

int adv_shm_attach(struct adv_link *link, uint16_t slot, const struct adv_shm_pair *pair)
{
	struct shm_link *l = shm_of(link);
	struct shm_peer *p = l->count < PEERS ? map_peer(l, pair) : NULL;
	int err = l->count < PEERS ? errno : EMFILE;

	adv_sys_close(pair->memory_fd);
	if (!p)
		return err;
	p->slot = slot;
	p->settling = true;
	p->since = l->clock();
	if (l->udp_last[slot] == UDP_EARLIER)
		l->udp_last[slot] = p->since;
	adv_ring_sleep(&p->reader, l->sleeping);
	adv_ring_accept(&p->reader, !l->refuses_long);
	drop_earlier_peers(l, slot);
	l->of_slot[slot] = p;
	l->peer[l->count++] = p;
	l->quiet_calls = QUIET_CALLS;
	return 0;
}

void adv_shm_set_homes(struct adv_link *link, const _Atomic uint16_t *home)
{
	shm_of(link)->home = home;
}

void adv_shm_detach(struct adv_link *link, uint16_t slot)
{
	struct shm_peer *p = shm_of(link)->of_slot[slot];

	if (!p)
		return;
	p->exited = true;
	retire_peer(shm_of(link), p);
}

bool adv_shm_attached(const struct adv_link *link, uint16_t slot)
{
	const struct shm_link *l = shm_of((struct adv_link *)(uintptr_t)link);

	return l->of_slot[slot] != NULL;
}

bool adv_shm_has_peers(const struct adv_link *link)
{
	return shm_of((struct adv_link *)(uintptr_t)link)->count > 0;
}

bool adv_shm_has_readers(const struct adv_link *link)
{
	const struct shm_link *l = shm_of((struct adv_link *)(uintptr_t)link);
	uint64_t now = l->clock();

	for (unsigned i = 0; i < l->count; i++) {
		const struct shm_peer *p = l->peer[i];

		if (p->settling && p->writer.head && !adv_ring_has_reader(&p->writer) &&
		    now - p->since < READER_WAIT)
			return false;
	}
	return true;
}

/* ---- creation and destruction ---- */

static void shm_destroy(struct adv_link *link)
{
	struct shm_link *l = shm_of(link);

	while (l->count)
		free_peer(l, l->count - 1);
	l->udp->ops->destroy(l->udp);
	adv_pull_page_free(&l->page);
	adv_sys_close(link->bell_fd);
	free(l);
}

static const struct adv_link_ops shm_ops = {
	.send = shm_send,
	.flush = shm_flush,
	.receive = shm_receive,
	.sleep = shm_sleep,
	.long_payload = shm_long_payload,
	.recall = shm_recall,
	.accept_long = shm_accept_long,
	.way = shm_way,
	.destroy = shm_destroy,
};

struct adv_link *adv_shm_create(struct adv_link *udp, uint64_t (*clock)(void))
{
	struct shm_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->link.bell_fd = adv_bell_open(&l->bell);
	if (l->link.bell_fd < 0) {
		free(l);
		return NULL;
	}
	adv_pull_page_make(&l->page);
	l->udp = udp;
	l->clock = clock;
	l->sleeping = true; /* until the owner calls sleep() */
	l->link.ops = &shm_ops;
	l->link.receive_fd = udp->receive_fd;
	l->link.rx_window = udp->rx_window;
	l->link.send_fd = -1;
	l->link.inner = udp;
	return &l->link;
}
