/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb_gateway/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "storage/kit/turn.h"

enum {
	CREDITS = 128, /* receives */
	/* To request of the peer. The receives of Linux are those of an incomplete message until it
	 * is complete, and it grants new credits only below the number that is requested. So the
	 * credits for its longest message, of half of its 255 receives, have to be there before
	 * it: with 128, connections stopped in the middle of messages. */
	REQUESTED_CREDITS = 255,
	/* Bytes, both ways: a page of data. Linux and Windows use 1,364, but Linux before 6.3 sends
	 * wrong data by several SENDs of a page. */
	SEND_SIZE = 4096 + ADV_SMBD_DATA_OFFSET,
	SLOTS = 64, /* SENDs at the same time */
	WORK_MAX = SLOTS + 2 * ADV_SMB_DIRECT_READS_MAX,
};

/* A SEND: its memory is a copy of the head and of a part of a message. */
struct slot {
	struct adv_list link; /* direct->slots, while it is free */
	struct adv_smb_direct *direct;
	struct adv_smb_direct_out *out; /* it is the last one of that message, or NULL */
	bool final;			/* the connection ends after it */
	uint8_t *data;
	struct adv_kit_work work;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
};

/* A received fragment that waits for memory. */
struct held {
	struct adv_receive *receive;
	struct adv_smbd_fragment fragment;
};

struct adv_smb_direct {
	struct adv_loop *loop;
	struct adv_smb_direct_config config;
	struct adv_endpoint *endpoint;
	struct adv_kit_device *device; /* NULL: not connected yet */
	struct adv_smbd core;
	struct adv_kit_timer timer;
	uint64_t timer_at;

	uint8_t *memory; /* of the slots */
	struct ibv_mr *mr;
	struct slot slot[SLOTS];
	struct adv_list slots;

	/* struct adv_smb_direct_out, in their order: whose sending has not begun, and has begun. */
	struct adv_list waiting, begun;
	struct adv_smb_direct_out *present; /* the last one of `begun`, if it has unsent parts */
	unsigned part;			    /* of `present` */
	size_t part_offset;
	uint64_t outs_since;   /* the first one of all has been the first since then, ms */
	struct adv_list reads; /* struct adv_smb_direct_reads that are posted */
	uint64_t reads_since;  /* likewise */

	struct held held[CREDITS + 1];
	unsigned held_first, held_count;
	uint8_t *message; /* that is reassembled, or NULL */
	uint32_t message_length;
	uint64_t message_since; /* it is incomplete since then, ms */
	const char *reason;
	bool closing;
};

static void fail_connection(struct adv_smb_direct *d, const char *reason)
{
	if (!d->reason)
		d->reason = reason;
	adv_smb_direct_close(d);
}

/* --- sending --- */

static bool has_outs(const struct adv_smb_direct *d)
{
	return !adv_list_empty(&d->waiting) || !adv_list_empty(&d->begun);
}

static void remove_out(struct adv_smb_direct *d, struct adv_smb_direct_out *out, bool ok)
{
	adv_list_del(&out->link);
	d->outs_since = adv_clock_ms();
	out->done(out, ok);
}

static void send_all(struct adv_smb_direct *d);

static void message_sent(struct adv_kit_work *w, bool ok)
{
	struct slot *s = adv_container_of(w, struct slot, work);
	struct adv_smb_direct *d = s->direct;
	struct adv_smb_direct_out *out = s->out;

	adv_list_add_tail(&d->slots, &s->link);
	s->out = NULL;
	if (out)
		remove_out(d, out, ok);
	if (s->final)
		fail_connection(d, d->core.reason);
	if (ok)
		send_all(d);
}

static void reads_executed(struct adv_kit_work *w, bool ok)
{
}

/* Copies the next `length` bytes of the present message. */
static void copy_out(struct adv_smb_direct *d, uint8_t *to, size_t length)
{
	while (length > 0) {
		const struct iovec *p = &d->present->parts[d->part];
		size_t n = p->iov_len - d->part_offset;

		if (n > length)
			n = length;
		memcpy(to, (const uint8_t *)p->iov_base + d->part_offset, n);
		to += n;
		length -= n;
		d->part_offset += n;
		if (d->part_offset == p->iov_len) {
			d->part++;
			d->part_offset = 0;
		}
	}
}

static void post_slot(struct adv_smb_direct *d, struct slot *s, const struct adv_smbd_send *m)
{
	memcpy(s->data, m->head, m->head_length);
	s->wr = (struct ibv_send_wr){.sg_list = &s->sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	s->sge = (struct ibv_sge){(uintptr_t)s->data, m->head_length + m->length, d->mr->lkey};
	s->work = (struct adv_kit_work){.first = &s->wr, .count = 1, .done = message_sent};
	s->final = d->core.state == ADV_SMBD_FAILED;
	if (m->length > 0)
		copy_out(d, s->data + m->head_length, m->length);
	if (m->last) {
		s->out = d->present;
		d->present = NULL;
		if (s->out->key) {
			s->wr.opcode = IBV_WR_SEND_WITH_INV;
			s->wr.invalidate_rkey = s->out->key;
		}
	}
	adv_list_del(&s->link);
	adv_endpoint_post(d->endpoint, &s->work);
}

/* Begins the next message, if there is one. */
static void begin_next(struct adv_smb_direct *d)
{
	struct adv_smb_direct_out *out;

	if (d->present || adv_list_empty(&d->waiting) || !adv_smbd_can_begin(&d->core))
		return;
	out = adv_container_of(d->waiting.next, struct adv_smb_direct_out, link);
	adv_list_del(&out->link);
	adv_list_add_tail(&d->begun, &out->link);
	d->present = out;
	d->part = 0;
	d->part_offset = 0;
	adv_smbd_begin(&d->core, out->length);
	if (out->before.first) {
		out->before.done = reads_executed;
		adv_endpoint_post(d->endpoint, &out->before);
	}
}

static void update_timer(struct adv_smb_direct *d);

static void send_all(struct adv_smb_direct *d)
{
	struct adv_smbd_send m;

	if (d->closing)
		return;
	while (d->device && !adv_list_empty(&d->slots)) {
		begin_next(d);
		if (!adv_smbd_next(&d->core, &m))
			break;
		post_slot(d, adv_container_of(d->slots.next, struct slot, link), &m);
	}
	update_timer(d);
}

void adv_smb_direct_send(struct adv_smb_direct *d, struct adv_smb_direct_out *out)
{
	out->since = adv_clock_ms();
	if (!has_outs(d))
		d->outs_since = out->since;
	adv_list_add_tail(&d->waiting, &out->link);
	send_all(d);
}

static void read_done(struct adv_kit_work *w, bool ok)
{
	struct adv_smb_direct_reads *r = adv_container_of(w, struct adv_smb_direct_reads, work);

	adv_list_del(&r->link);
	r->direct->reads_since = adv_clock_ms();
	r->done(r, ok);
}

void adv_smb_direct_read(struct adv_smb_direct *d, struct adv_smb_direct_reads *r)
{
	r->since = adv_clock_ms();
	if (adv_list_empty(&d->reads))
		d->reads_since = r->since;
	adv_list_add_tail(&d->reads, &r->link);
	r->direct = d;
	r->work.done = read_done;
	adv_endpoint_post(d->endpoint, &r->work);
	update_timer(d);
}

/* --- receiving --- */

static void repost_receive(struct adv_smb_direct *d, struct adv_receive *r)
{
	adv_endpoint_repost(d->endpoint, r);
	adv_smbd_reposted(&d->core, adv_clock_ms());
}

/* Copies a fragment into its message. False: there is no memory for the message. */
static bool copy_fragment(struct adv_smb_direct *d, const struct adv_smbd_fragment *f)
{
	uint8_t *message;

	if (!d->message) {
		d->message = d->config.ops->buffer(d->config.user, f->total);
		d->message_length = f->total;
		d->message_since = adv_clock_ms();
	}
	if (!d->message)
		return false;
	memcpy(d->message + f->offset, f->data, f->length);
	if (f->offset + f->length < f->total)
		return true;
	message = d->message;
	d->message = NULL;
	d->config.ops->message(d->config.user, message, f->total);
	return true;
}

static void hold_fragment(struct adv_smb_direct *d, struct adv_receive *r,
			  const struct adv_smbd_fragment *f)
{
	unsigned at = (d->held_first + d->held_count++) % (CREDITS + 1);

	d->held[at] = (struct held){r, *f};
}

bool adv_smb_direct_resume(struct adv_smb_direct *d)
{
	while (d->held_count > 0 && !d->closing) {
		struct held *h = &d->held[d->held_first];

		if (!copy_fragment(d, &h->fragment))
			break;
		d->held_first = (d->held_first + 1) % (CREDITS + 1);
		d->held_count--;
		repost_receive(d, h->receive);
	}
	send_all(d);
	return d->held_count == 0 || d->closing;
}

static void fragment_received(void *user, struct adv_receive *r)
{
	struct adv_smb_direct *d = user;
	struct adv_smbd_fragment f;

	switch (adv_smbd_receive(&d->core, r->data, r->length, adv_clock_ms(), &f)) {
	case ADV_SMBD_BROKEN:
		fail_connection(d, d->core.reason);
		return;
	case ADV_SMBD_FRAGMENT:
		if (d->held_count > 0 || !copy_fragment(d, &f)) {
			hold_fragment(d, r, &f);
			break;
		}
		repost_receive(d, r);
		break;
	case ADV_SMBD_NEGOTIATED:
		repost_receive(d, r);
		d->config.ops->ready(d->config.user, d->device);
		break;
	case ADV_SMBD_NOTHING:
		repost_receive(d, r);
		break;
	}
	send_all(d);
}

/* --- time --- */

static uint64_t first_out_since(const struct adv_smb_direct *d)
{
	const struct adv_list *outs = adv_list_empty(&d->begun) ? &d->waiting : &d->begun;

	return adv_container_of(outs->next, struct adv_smb_direct_out, link)->since;
}

static uint64_t first_read_since(const struct adv_smb_direct *d)
{
	return adv_container_of(d->reads.next, struct adv_smb_direct_reads, link)->since;
}

/* Returns when the connection ends if the peer does nothing, and why. */
static uint64_t patience_end(const struct adv_smb_direct *d, const char **why)
{
	bool outs = has_outs(d), reads = !adv_list_empty(&d->reads);
	const struct {
		bool waiting;
		uint64_t since;
		unsigned times;
		const char *why;
	} all[] = {
		{outs, d->outs_since, 1, "it takes no messages"},
		{outs, outs ? first_out_since(d) : 0, ADV_TURN_LATEST, "it takes messages slowly"},
		{d->message, d->message_since, 1, "it does not complete a message"},
		{reads, d->reads_since, 1, "its memory cannot be read in time"},
		{reads, reads ? first_read_since(d) : 0, ADV_TURN_LATEST,
		 "its memory is read slowly"},
	};
	uint64_t end = ADV_SMBD_NEVER;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t at = all[i].since + (uint64_t)d->config.timeout_ms * all[i].times;

		if (!all[i].waiting || at >= end)
			continue;
		end = at;
		*why = all[i].why;
	}
	return end;
}

/* Starts the timer, unless it runs out earlier anyway. */
static void update_timer(struct adv_smb_direct *d)
{
	const char *why;
	uint64_t at = adv_smbd_deadline(&d->core), now = adv_clock_ms(),
		 end = patience_end(d, &why);

	if (end < at)
		at = end;
	if (at >= d->timer_at)
		return;
	d->timer_at = at;
	adv_loop_start_timer(d->loop, &d->timer, at > now ? (unsigned)(at - now) : 0);
}

static void timer_expired(struct adv_kit_timer *t)
{
	struct adv_smb_direct *d = adv_container_of(t, struct adv_smb_direct, timer);
	uint64_t now = adv_clock_ms();
	const char *why = NULL;

	d->timer_at = ADV_SMBD_NEVER;
	adv_smbd_expire(&d->core, now);
	if (d->core.state == ADV_SMBD_FAILED)
		fail_connection(d, d->core.reason);
	else if (now >= patience_end(d, &why))
		fail_connection(d, why);
	else
		send_all(d);
}

/* --- the end --- */

static void free_direct(struct adv_smb_direct *d)
{
	adv_kit_timer_cancel(&d->timer);
	if (d->mr)
		ibv_dereg_mr(d->mr);
	if (d->memory)
		munmap(d->memory, SLOTS * SEND_SIZE);
	free(d);
}

static void fail_outs(struct adv_smb_direct *d, struct adv_list *outs)
{
	while (!adv_list_empty(outs))
		remove_out(d, adv_container_of(outs->next, struct adv_smb_direct_out, link), false);
}

static void endpoint_closed(void *user)
{
	struct adv_smb_direct *d = user;
	struct adv_smb_direct_config config = d->config;
	const char *reason = d->reason;

	d->present = NULL;
	fail_outs(d, &d->begun);
	fail_outs(d, &d->waiting);
	if (d->message)
		config.ops->dropped(config.user, d->message, d->message_length);
	free_direct(d);
	config.ops->closed(config.user, reason);
}

void adv_smb_direct_close(struct adv_smb_direct *d)
{
	d->closing = true;
	adv_endpoint_close(d->endpoint);
}

/* --- the beginning --- */

/* Registers the memory of the slots. */
static bool set_device(struct adv_smb_direct *d, struct adv_kit_device *device)
{
	d->mr = ibv_reg_mr(device->pd, d->memory, SLOTS * SEND_SIZE, IBV_ACCESS_LOCAL_WRITE);
	if (d->mr)
		d->device = device;
	return d->mr != NULL;
}

static void endpoint_connected(void *user, struct adv_kit_device *device, const void *private_data,
			       size_t length)
{
	struct adv_smb_direct *d = user;

	if (set_device(d, device))
		send_all(d);
	else
		fail_connection(d, "no memory");
}

static struct adv_smb_direct *new_direct(struct adv_loop *l,
					 const struct adv_smb_direct_config *config, bool accepts)
{
	const struct adv_smbd_config core = {
		.accepts = accepts,
		.receive_credits = CREDITS,
		.send_credits = REQUESTED_CREDITS,
		.send_size = SEND_SIZE,
		.receive_size = SEND_SIZE,
		.fragmented_size = config->longest,
		.read_write_size = config->read_write_size,
		.negotiate_ms = config->timeout_ms,
		.keepalive_ms = config->timeout_ms,
		.response_ms = config->timeout_ms,
	};
	struct adv_smb_direct *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->loop = l;
	d->config = *config;
	d->timer_at = ADV_SMBD_NEVER;
	adv_kit_timer_init(&d->timer, timer_expired);
	adv_list_init(&d->slots);
	adv_list_init(&d->waiting);
	adv_list_init(&d->begun);
	adv_list_init(&d->reads);
	d->memory = mmap(NULL, SLOTS * SEND_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->memory == MAP_FAILED) {
		free(d);
		return NULL;
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		d->slot[i].direct = d;
		d->slot[i].data = d->memory + (size_t)i * SEND_SIZE;
		adv_list_add_tail(&d->slots, &d->slot[i].link);
	}
	adv_smbd_init(&d->core, &core, adv_clock_ms());
	return d;
}

static struct adv_endpoint_config endpoint_config(struct adv_smb_direct *d)
{
	return (struct adv_endpoint_config){
		.receives = CREDITS + 1,
		.receive_size = SEND_SIZE,
		.work_max = WORK_MAX,
		.connected = endpoint_connected,
		.received = fragment_received,
		.closed = endpoint_closed,
		.user = d,
	};
}

/* Frees it after an error. Returns NULL. */
static struct adv_smb_direct *give_up(struct adv_smb_direct *d)
{
	int err = errno;

	free_direct(d);
	errno = err;
	return NULL;
}

struct adv_smb_direct *adv_smb_direct_accept(struct adv_loop *l, struct adv_kit_device *device,
					     struct rdma_cm_id *id,
					     const struct rdma_conn_param *param,
					     const struct adv_smb_direct_config *config)
{
	struct adv_smb_direct *d = new_direct(l, config, true);
	struct adv_endpoint_config e;

	if (!d)
		return NULL;
	e = endpoint_config(d);
	if (!set_device(d, device) || !adv_endpoint_accept(l, device, id, param, &e, &d->endpoint))
		return give_up(d);
	update_timer(d);
	return d;
}

struct adv_smb_direct *adv_smb_direct_connect(struct adv_loop *l, struct adv_connections *c,
					      const struct sockaddr *to,
					      const struct adv_smb_direct_config *config)
{
	struct adv_smb_direct *d = new_direct(l, config, false);
	struct adv_endpoint_config e;

	if (!d)
		return NULL;
	e = endpoint_config(d);
	if (!adv_connections_connect(c, to, &e, &d->endpoint))
		return give_up(d);
	update_timer(d);
	return d;
}

uint32_t adv_smb_direct_longest(const struct adv_smb_direct *d)
{
	return d->core.fragmented_size;
}

uint32_t adv_smb_direct_read_write_size(const struct adv_smb_direct *d)
{
	return d->core.read_write_size;
}
