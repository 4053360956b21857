/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/pcapng.h"

#include <string.h>

/* Block types. */
#define SECTION		 0x0a0d0d0au
#define INTERFACE	 1u
#define STATISTICS	 5u
#define PACKET		 6u

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define ETHERNET	 1
#define NANOSECONDS	 9 /* if_tsresol: 10^-9 s */
#define INBOUND		 1 /* epb_flags */
#define OUTBOUND	 2
#define TEXT_MOST	 200
#define HEAD_MOST	 1024 /* bytes of a block without a packet's bytes */

/* Option codes. */
enum {
	END = 0,
	COMMENT = 1,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	EPB_DROPCOUNT = 4,
	ISB_STARTTIME = 2,
	ISB_ENDTIME = 3,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
	ISB_USRDELIV = 8,
};

/* A block before it is written. All its parts are multiples of 4 bytes. */
struct block {
	uint32_t type;
	size_t len;
	uint8_t bytes[HEAD_MOST];
};

static void add_bytes(struct block *b, const void *p, size_t len)
{
	memcpy(b->bytes + b->len, p, len);
	memset(b->bytes + b->len + len, 0, -len & 3);
	b->len += (len + 3) & ~(size_t)3;
}

static void add_u32(struct block *b, uint32_t v)
{
	add_bytes(b, &v, sizeof(v));
}

static void add_option(struct block *b, uint16_t code, const void *p, size_t len)
{
	const uint16_t head[2] = {code, (uint16_t)len};

	add_bytes(b, head, sizeof(head));
	add_bytes(b, p, len);
}

static void add_text(struct block *b, uint16_t code, const char *text)
{
	add_option(b, code, text, strnlen(text, TEXT_MOST));
}

static void add_u64(struct block *b, uint16_t code, uint64_t v)
{
	add_option(b, code, &v, sizeof(v));
}

/* The two halves of a time are written on their own, the upper one first. */
static void add_time(struct block *b, uint16_t code, uint64_t time)
{
	const uint32_t halves[2] = {(uint32_t)(time >> 32), (uint32_t)time};

	add_option(b, code, halves, sizeof(halves));
}

static void begin_block(struct block *b, uint32_t type)
{
	b->type = type;
	b->len = 0;
}

/* Writes a block. The first `before` bytes of its body precede the packet, the rest follows it.
 * packet is not NULL, though packet_len may be 0. No other thread writes: locks of the file would
 * take a third of the time of a capture. */
static size_t write_block(FILE *f, const struct block *b, size_t before, const uint8_t *packet,
			  size_t packet_len)
{
	static const uint8_t zeroes[4];
	const size_t padding = -packet_len & 3;
	const uint32_t len = (uint32_t)(12 + b->len + packet_len + padding);
	const uint32_t head[2] = {b->type, len};

	fwrite_unlocked(head, sizeof(head), 1, f);
	fwrite_unlocked(b->bytes, before, 1, f);
	fwrite_unlocked(packet, 1, packet_len, f);
	fwrite_unlocked(zeroes, 1, padding, f);
	fwrite_unlocked(b->bytes + before, 1, b->len - before, f);
	fwrite_unlocked(&len, sizeof(len), 1, f);
	return len;
}

size_t adv_pcapng_section(FILE *f, const char *application)
{
	const uint16_t version[2] = {1, 0};
	const int64_t length = -1; /* not known */
	struct block b;

	begin_block(&b, SECTION);
	add_u32(&b, BYTE_ORDER_MAGIC);
	add_bytes(&b, version, sizeof(version));
	add_bytes(&b, &length, sizeof(length));
	add_text(&b, SHB_USERAPPL, application);
	add_u32(&b, END);
	return write_block(f, &b, b.len, b.bytes, 0);
}

size_t adv_pcapng_interface(FILE *f, const char *name, const char *description, uint32_t snaplen)
{
	const uint16_t link[2] = {ETHERNET, 0};
	const uint8_t resolution = NANOSECONDS;
	struct block b;

	begin_block(&b, INTERFACE);
	add_bytes(&b, link, sizeof(link));
	add_u32(&b, snaplen);
	add_text(&b, IF_NAME, name);
	add_text(&b, IF_DESCRIPTION, description);
	add_option(&b, IF_TSRESOL, &resolution, sizeof(resolution));
	add_u32(&b, END);
	return write_block(f, &b, b.len, b.bytes, 0);
}

size_t adv_pcapng_packet(FILE *f, const struct adv_pcapng_packet *p)
{
	const uint32_t flags = p->out ? OUTBOUND : INBOUND;
	struct block b;
	size_t before;

	begin_block(&b, PACKET);
	add_u32(&b, p->interface);
	add_u32(&b, (uint32_t)(p->time >> 32));
	add_u32(&b, (uint32_t)p->time);
	add_u32(&b, (uint32_t)p->captured);
	add_u32(&b, (uint32_t)p->len);
	before = b.len;
	add_option(&b, EPB_FLAGS, &flags, sizeof(flags));
	if (p->lost)
		add_u64(&b, EPB_DROPCOUNT, p->lost);
	if (p->comment)
		add_text(&b, COMMENT, p->comment);
	add_u32(&b, END);
	return write_block(f, &b, before, p->bytes, p->captured);
}

size_t adv_pcapng_statistics(FILE *f, uint32_t interface, uint64_t now,
			     const struct adv_pcapng_sums *sums)
{
	struct block b;

	begin_block(&b, STATISTICS);
	add_u32(&b, interface);
	add_u32(&b, (uint32_t)(now >> 32));
	add_u32(&b, (uint32_t)now);
	add_time(&b, ISB_STARTTIME, sums->start);
	add_time(&b, ISB_ENDTIME, now);
	add_u64(&b, ISB_IFRECV, sums->received);
	add_u64(&b, ISB_IFDROP, sums->dropped);
	add_u64(&b, ISB_USRDELIV, sums->delivered);
	add_u32(&b, END);
	return write_block(f, &b, b.len, b.bytes, 0);
}
