/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures at the ends of cables: copies of frames in rings that `adverb fabric capture` reads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/emulator/internal.h"
#include "base/clock.h"
#include "fabric/network/calendar.h"
#include "fabric/network/packet.h"
#include "base/bytes.h"
#include "nic/wire/frame.h"

#define RING_SIZE (16u << 20)

/* ---- frames ---- */

/* Returns the record of a frame, without the bytes. */
static struct adv_tap_record record_of(const struct adv_emulator *e, const struct adv_packet *p,
				       bool out)
{
	const uint8_t tag = p->external ? p->header_len : 0;
	struct adv_tap_record r = {
		.time = e->capture_day +
			(adv_fabric_now(e->config.fabric) - e->capture_virtual) / ADV_PS_PER_NS,
		.sport = p->sport,
		.tclass = p->tclass,
		.hop_limit = p->hop_limit,
		.flags = out ? ADV_TAP_OUT : 0,
	};

	if (p->kind == ADV_PACKET_PAUSE)
		return r;
	if (tag & EMULATOR_V1) {
		r.flags |= ADV_TAP_V1 | ADV_TAP_TAGGED;
		r.sport = (uint16_t)(p->priority << 13); /* PCP (IEEE 802.1Q 9.6) */
	}
	adv_port_gid(&e->place, p->from, tag & EMULATOR_LOCAL, &r.sgid);
	adv_port_gid(&e->place, p->to, tag & EMULATOR_LOCAL, &r.dgid);
	return r;
}

static void put_data(struct adv_tap_writer *w, const struct adv_packet *p,
		     const struct adv_tap_record *record)
{
	struct iovec iov = {(void *)(uintptr_t)p->payload, p->payload_len};
	struct adv_tap_packet t = {
		.record = *record, .header = p->header, .iov = &iov, .iov_count = 1};

	if (p->external) {
		t.header = p->body;
		t.record.header_len = ADV_BTH_LEN;
		iov = (struct iovec){p->body + ADV_BTH_LEN, p->payload_len - ADV_BTH_LEN};
	} else {
		t.record.header_len = p->header_len;
		t.record.pad = p->pad;
	}
	t.record.payload_len = (uint32_t)iov.iov_len;
	adv_tap_put(w, &t);
}

static void put_pause(struct adv_tap_writer *w, const struct adv_packet *p,
		      const struct adv_tap_record *record)
{
	uint8_t frame[ADV_FRAME_PFC_LEN];
	struct iovec iov = {frame, sizeof(frame)};
	struct adv_tap_packet t = {.record = *record, .header = frame, .iov = &iov, .iov_count = 1};

	adv_frame_pfc(frame, p->pause_mask, p->quanta);
	t.record.payload_len = sizeof(frame);
	adv_tap_put(w, &t);
}

void adv_emulator_seen(void *user, uint32_t link, unsigned end, bool out,
		       const struct adv_packet *p)
{
	struct adv_emulator *e = user;
	struct adv_tap_record record = record_of(e, p, out);

	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++) {
		struct emulator_capture *c = &e->capture[i];

		if (!c->owner || c->link != link || c->end != end)
			continue;
		if (p->kind == ADV_PACKET_PAUSE)
			put_pause(&c->writer, p, &record);
		else
			put_data(&c->writer, p, &record);
	}
}

/* ---- begin and end ---- */

static int make_ring(struct emulator_capture *c, int *fd)
{
	size_t len = adv_tap_memory_len(RING_SIZE);

	*fd = memfd_create("adverb-capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, (off_t)len) < 0 ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return errno;
	c->memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (c->memory == MAP_FAILED) {
		c->memory = NULL;
		return ENOMEM;
	}
	return 0;
}

static struct emulator_capture *unused_capture(struct adv_emulator *e)
{
	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++)
		if (!e->capture[i].owner)
			return &e->capture[i];
	return NULL;
}

int adv_emulator_capture(struct adv_emulator *e, struct emulator_program *p,
			 struct adv_port_message *m, int *fd)
{
	struct emulator_capture *c = unused_capture(e);
	int error;

	*fd = -1;
	if (!c) {
		snprintf(m->text, sizeof(m->text), "%d captures run already", EMULATOR_CAPTURES);
		return EBUSY;
	}
	error = adv_emulator_find_cable(e, m, &c->link, &c->end);
	if (!error)
		error = make_ring(c, fd);
	if (error)
		return error;
	adv_tap_writer_init(&c->writer, c->memory, RING_SIZE, m->first);
	if (!e->capture_day) {
		e->capture_day = adv_clock_day_ns();
		e->capture_virtual = adv_fabric_now(e->config.fabric);
	}
	c->owner = p;
	adv_fabric_tap(e->config.fabric, c->link, c->end, true);
	m->count = RING_SIZE;
	return 0;
}

void adv_emulator_end_captures(struct adv_emulator *e, const struct emulator_program *p)
{
	for (unsigned i = 0; i < EMULATOR_CAPTURES; i++) {
		struct emulator_capture *c = &e->capture[i];
		bool others = false;

		if (c->owner != p)
			continue;
		c->owner = NULL;
		munmap(c->memory, adv_tap_memory_len(RING_SIZE));
		c->memory = NULL;
		for (unsigned k = 0; k < EMULATOR_CAPTURES; k++)
			others = others || (e->capture[k].owner && e->capture[k].link == c->link &&
					    e->capture[k].end == c->end);
		if (!others)
			adv_fabric_tap(e->config.fabric, c->link, c->end, false);
	}
}
