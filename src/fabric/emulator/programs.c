/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames of programs: from their rings to the NIC of their host, and back. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/emulator/internal.h"
#include "base/bytes.h"

/* Frames of a program that wait for priorities that the NIC does not want. If there are more, the
 * program's frames of other priorities wait behind them. */
#define KEPT_MOST 64

/* ---- frames ---- */

static struct emulator_frame *take_frame(struct adv_emulator *e)
{
	struct emulator_frame *f = e->unused;

	if (!f)
		return malloc(sizeof(*f));
	e->unused = f->next;
	return f;
}

static void give_back(struct adv_emulator *e, struct emulator_frame *f)
{
	f->next = e->unused;
	e->unused = f;
}

void adv_emulator_free_frames(struct adv_emulator *e)
{
	if (e->lent)
		give_back(e, e->lent);
	e->lent = NULL;
	while (e->unused) {
		struct emulator_frame *f = e->unused;

		e->unused = f->next;
		free(f);
	}
}

/* ---- from a program ---- */

/* Nothing in *meta is used before it is checked. */
static bool accept_meta(void *user, struct adv_rx_meta *meta)
{
	return true;
}

static void refuse_frame(struct emulator_program *p)
{
	p->emulator->host[p->host].tx_refused++;
}

/* Makes a frame of RoCE v1 of a record that stands for one. Switches find no UDP port in it, so all
 * frames between two hosts take one way. */
static void make_v1(struct adv_fabric_frame *f)
{
	f->v1 = true;
	f->sl = (uint8_t)(f->sport - adv_port_v1_sport(0));
	f->sport = 0;
	f->tclass &= (uint8_t)~ADV_ECN_MASK;
	f->tag |= EMULATOR_V1;
}

/* Copies a frame out of the ring. `pkt` may have any contents. */
static void read_frame(void *user, const struct adv_rx_packet *pkt)
{
	struct emulator_program *p = user;
	struct adv_emulator *e = p->emulator;
	const struct adv_port_place *place = &e->place;
	uint32_t to = adv_port_host_of(place, &pkt->meta->dgid);
	struct emulator_frame *f;

	p->read_since_full += pkt->len;
	if (pkt->more || pkt->source || pkt->len > sizeof(f->bytes) || to >= place->hosts ||
	    adv_port_host_of(place, &pkt->meta->sgid) != p->host || p->fresh ||
	    adv_gid_is_ipv4(&pkt->meta->sgid) != adv_gid_is_ipv4(&pkt->meta->dgid)) {
		refuse_frame(p);
		return;
	}
	f = take_frame(e);
	if (!f)
		return; /* the frame is lost, as in a NIC without memory */
	memcpy(f->bytes, pkt->body ? pkt->body : pkt->data, pkt->len);
	memcpy(f->bytes, pkt->data, pkt->len < ADV_HEADERS_MAX ? pkt->len : ADV_HEADERS_MAX);
	f->frame = (struct adv_fabric_frame){
		.to = to,
		.sport = pkt->meta->sport,
		.tclass = pkt->meta->tclass,
		.hop_limit = pkt->meta->hop_limit,
		.tag = adv_gid_is_ipv4(&pkt->meta->dgid) ? 0 : EMULATOR_LOCAL,
		.length = pkt->len,
		.bytes = f->bytes};
	if (adv_port_sport_is_v1(pkt->meta->sport))
		make_v1(&f->frame);
	f->priority = adv_fabric_frame_priority(e->config.fabric, &f->frame);
	p->fresh = f;
}

/* Lets a program continue that waits for room, when half of its ring is free. */
static void show_room(struct emulator_program *p)
{
	uint8_t bytes[64];

	/* Pairs with the program, which sets the flag first and then reads the tail. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&p->flag->full, memory_order_relaxed))
		return;
	if (p->read_since_full < p->emulator->place.tx_size / 2 && adv_ring_has(&p->reader))
		return;
	p->read_since_full = 0;
	atomic_store_explicit(&p->flag->full, 0, memory_order_relaxed);
	/* Once: the program, which this wakes, may have filled the ring and the socket again. */
	(void)!recv(p->room, bytes, sizeof(bytes), MSG_DONTWAIT);
}

static void keep_frame(struct emulator_program *p, struct emulator_frame *f)
{
	f->next = NULL;
	if (p->kept[f->priority])
		p->kept_last[f->priority]->next = f;
	else
		p->kept[f->priority] = f;
	p->kept_last[f->priority] = f;
	p->kept_count++;
}

static struct emulator_frame *take_kept(struct emulator_program *p, uint8_t wanted)
{
	for (unsigned i = ADV_PRIORITIES; i-- > 0;) {
		struct emulator_frame *f = p->kept[i];

		if (!f || !(wanted & (1u << i)))
			continue;
		p->kept[i] = f->next;
		p->kept_count--;
		return f;
	}
	return NULL;
}

/* Returns the program's next frame of a wanted priority, or NULL. */
static struct emulator_frame *next_frame(struct emulator_program *p, uint8_t wanted)
{
	struct emulator_frame *f = take_kept(p, wanted);

	for (unsigned reads = 0; !f && p->kept_count < KEPT_MOST && reads < 2 * KEPT_MOST;
	     reads++) {
		p->fresh = NULL;
		if (!adv_ring_get(&p->reader, 1, read_frame, p, &p->counters))
			break;
		f = p->fresh;
		if (f && !(wanted & (1u << f->priority))) {
			keep_frame(p, f);
			f = NULL;
		}
	}
	show_room(p);
	return f;
}

static bool pull_frame(void *user, uint32_t host, uint8_t wanted, struct adv_fabric_frame *frame)
{
	struct adv_emulator *e = user;
	struct emulator_host *h = &e->host[host];

	if (e->lent)
		give_back(e, e->lent);
	e->lent = NULL;
	adv_list_for_each(struct emulator_program, p, &h->programs, node) {
		struct emulator_frame *f = p->attached ? next_frame(p, wanted) : NULL;

		if (!f)
			continue;
		/* the next call begins with another program */
		adv_list_del(&p->node);
		adv_list_add_tail(&h->programs, &p->node);
		*frame = f->frame;
		e->lent = f;
		adv_emulator_count_sent(&e->flows, host, frame, adv_fabric_now(e->config.fabric));
		return true;
	}
	return false;
}

/* ---- to a program ---- */

static struct emulator_program *owner_of(const struct emulator_host *h, const uint8_t *bth)
{
	uint32_t qpn = adv_get_be32(bth + 4) & 0xffffff;

	return h->owner ? h->owner[adv_qpn_prefix(qpn)] : NULL;
}

static void deliver_frame(void *user, uint32_t host, const struct adv_fabric_frame *frame)
{
	struct adv_emulator *e = user;
	struct emulator_host *h = &e->host[host];
	struct emulator_program *p = owner_of(h, frame->bytes);
	struct adv_path path = {.sport = frame->sport,
				.tclass = frame->tclass & (uint8_t)~ADV_ECN_MASK,
				.hop_limit = frame->hop_limit};
	struct iovec iov = {(void *)(uintptr_t)(frame->bytes + ADV_BTH_LEN),
			    frame->length - ADV_BTH_LEN};
	struct adv_tx_packet pkt = {.path = &path,
				    .iov = &iov,
				    .iov_count = 1,
				    .header_len = ADV_BTH_LEN,
				    .payload_len = (uint32_t)iov.iov_len,
				    .ecn = (enum adv_ecn)(frame->tclass & ADV_ECN_MASK)};

	adv_emulator_count_received(&e->flows, host, frame, adv_fabric_now(e->config.fabric));
	if (!p) {
		h->rx_unclaimed++;
		return;
	}
	if (frame->tag & EMULATOR_V1)
		path.sport = adv_port_v1_sport(0); /* receivers learn no service level */
	adv_port_gid(&e->place, frame->from, frame->tag & EMULATOR_LOCAL, &path.sgid);
	adv_port_gid(&e->place, host, frame->tag & EMULATOR_LOCAL, &path.dgid);
	memcpy(pkt.header, frame->bytes, ADV_BTH_LEN);
	if (!adv_ring_put(&p->writer, &pkt)) {
		h->rx_overrun++;
		return;
	}
	if (p->written)
		return;
	p->written = true;
	p->written_next = e->written;
	e->written = p;
}

const struct adv_fabric_external_ops adv_emulator_ops = {pull_frame, deliver_frame,
							 adv_emulator_seen};

void adv_emulator_wake(struct adv_emulator *e)
{
	while (e->written) {
		struct emulator_program *p = e->written;
		adv_bell_name bell;

		e->written = p->written_next;
		p->written = false;
		if (adv_ring_must_wake(&p->writer, &bell))
			adv_bell_ring(e->host[p->host].bell, bell);
	}
}

/* ---- looking at the rings ---- */

static bool has_frame(const struct emulator_program *p)
{
	return p->attached && adv_ring_has(&p->reader) && p->kept_count < KEPT_MOST;
}

/* Disconnects programs whose ring is not valid. */
static void drop_broken(struct adv_emulator *e, struct emulator_program *p)
{
	if (!p->attached || !p->reader.broken || p->closing)
		return;
	adv_warn("process %d on host h%u is disconnected: its ring is not valid", (int)p->pid,
		 p->host);
	p->closing = true;
	shutdown(p->sock, SHUT_RDWR);
}

bool adv_emulator_look(struct adv_emulator *e)
{
	bool any = false;

	for (uint32_t i = 0; i < e->place.hosts; i++) {
		bool has = false;

		if (!e->host[i].attached)
			continue;
		adv_list_for_each(struct emulator_program, p, &e->host[i].programs, node) {
			drop_broken(e, p);
			has = has || has_frame(p);
		}
		if (has)
			adv_fabric_ready(e->config.fabric, i);
		any = any || has;
	}
	return any;
}

bool adv_emulator_sleep(struct adv_emulator *e, bool sleeping)
{
	bool nothing = true;

	for (uint32_t i = 0; i < e->place.hosts; i++) {
		if (!e->host[i].attached)
			continue;
		adv_list_for_each(struct emulator_program, p, &e->host[i].programs, node) {
			if (!p->attached)
				continue;
			adv_ring_sleep(&p->reader, sleeping);
			nothing = nothing && !has_frame(p);
		}
	}
	return nothing;
}

/* ---- attach and drop ---- */

static int make_memory(struct emulator_program *p, const struct adv_port_place *place, int *fd)
{
	static const struct adv_ring_memory start = ADV_RING_START;
	size_t len = adv_port_memory_len(place);
	uint8_t *rx;

	*fd = memfd_create("adverb-port", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, (off_t)len) < 0 ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return errno;
	p->memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return ENOMEM;
	}
	rx = p->memory + adv_ring_memory_len(place->tx_size);
	memcpy(p->memory, &start, sizeof(start));
	memcpy(rx, &start, sizeof(start));
	p->flag = (struct adv_port_flag *)(void *)(rx + adv_ring_memory_len(place->rx_size));
	adv_ring_writer_init(&p->writer, rx, place->rx_size);
	return 0;
}

/* Makes the socket pair by which a program waits for room. The smallest send buffer fills soonest.
 */
static int make_room(struct emulator_program *p, int *fd)
{
	int pair[2], least = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	p->room = pair[0];
	*fd = pair[1];
	return 0;
}

int adv_emulator_attach(struct adv_emulator *e, struct emulator_program *p, int fd[ADV_PORT_TIME])
{
	struct emulator_host *h;
	int error;

	if (p->host >= e->place.hosts || p->attached)
		return EINVAL;
	h = &e->host[p->host];
	if (!h->owner)
		h->owner = calloc(ADV_PREFIXES, sizeof(struct emulator_program *));
	error = h->owner ? make_memory(p, &e->place, &fd[ADV_PORT_MEMORY]) : ENOMEM;
	if (!error)
		error = make_room(p, &fd[ADV_PORT_ROOM]);
	if (error)
		return error;
	adv_ring_reader_init(&p->reader, p->memory, e->place.tx_size, h->bell_name, accept_meta, p);
	adv_ring_accept(&p->reader, false);
	adv_ring_sleep(&p->reader, !e->awake);
	p->attached = true;
	e->attached++;
	if (h->attached++ == 0)
		adv_fabric_attach(e->config.fabric, p->host);
	return 0;
}

int adv_emulator_claim(struct adv_emulator *e, struct emulator_program *p, uint32_t first,
		       uint32_t count)
{
	if (!p->attached || first >= ADV_PREFIXES || count > ADV_PREFIXES - first)
		return EINVAL;
	for (uint32_t i = first; i < first + count; i++)
		e->host[p->host].owner[i] = p;
	return 0;
}

/* Frees what an attached program has. Its frames in the network go on. */
static void detach_program(struct adv_emulator *e, struct emulator_program *p)
{
	struct emulator_host *h = &e->host[p->host];

	for (uint32_t i = 0; i < ADV_PREFIXES; i++)
		if (h->owner[i] == p)
			h->owner[i] = NULL;
	e->attached--;
	if (--h->attached == 0)
		adv_fabric_detach(e->config.fabric, p->host);
	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		while (p->kept[i]) {
			struct emulator_frame *f = p->kept[i];

			p->kept[i] = f->next;
			give_back(e, f);
		}
}

void adv_emulator_drop(struct adv_emulator *e, struct emulator_program *p)
{
	adv_emulator_wake(e); /* nobody refers to the program after this */
	if (p->attached)
		detach_program(e, p);
	adv_emulator_end_captures(e, p);
	adv_list_del(&p->node);
	e->programs--;
	if (p->memory)
		munmap(p->memory, adv_port_memory_len(&e->place));
	if (p->room >= 0)
		close(p->room);
	close(p->sock);
	free(p);
}
