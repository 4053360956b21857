/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/frame/pcap.h"

#include <inttypes.h>
#include <string.h>

#define MAGIC	      0xa1b2c3d4u
#define MAGIC_NS      0xa1b23c4du
#define MAGIC_PCAPNG  0x0a0d0d0au
#define MAGIC_SECTION 0x1a2b3c4du
#define HEAD_LEN      24
#define RECORD_LEN    16

/* Link types and the lengths of their headers. */
#define LINK_ETHERNET 1
#define LINK_RAW      101 /* IPv4 or IPv6, without a header */
#define LINK_SLL      113
#define LINK_SLL2     276
#define ETHERNET_LEN  14
#define SLL_LEN	      16
#define SLL2_LEN      20

/* A block of a pcapng has its type and length before the body, and its length again after it. */
#define BLOCK_HEAD	8
#define BLOCK_MIN	12
#define BLOCK_INTERFACE 1
#define BLOCK_SIMPLE	3
#define BLOCK_PACKET	6

static uint32_t get_u32(const struct adv_pcap *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p->data + at, sizeof(v));
	return p->swapped ? __builtin_bswap32(v) : v;
}

static bool is_magic(uint32_t v)
{
	return v == MAGIC || v == MAGIC_NS;
}

static uint32_t first_word(const uint8_t *data, size_t len)
{
	uint32_t v = 0;

	if (len >= sizeof(v))
		memcpy(&v, data, sizeof(v));
	return v;
}

bool adv_pcap_is_capture(const uint8_t *data, size_t len)
{
	uint32_t v = first_word(data, len);

	return is_magic(v) || is_magic(__builtin_bswap32(v)) || v == MAGIC_PCAPNG;
}

static bool not_known(uint32_t link, char why[ADV_PCAP_WHY])
{
	snprintf(why, ADV_PCAP_WHY,
		 "a capture of link type %" PRIu32
		 ", not of Ethernet (1), RAW (101), LINUX_SLL (113) or LINUX_SLL2 (276)",
		 link);
	return false;
}

static bool refuse_damaged(const struct adv_pcap *p, char why[ADV_PCAP_WHY])
{
	snprintf(why, ADV_PCAP_WHY, "the file is cut off, or damaged, at byte %zu", p->at);
	return false;
}

static bool is_known(uint32_t link)
{
	return link == LINK_ETHERNET || link == LINK_RAW || link == LINK_SLL || link == LINK_SLL2;
}

/* Turns an IP packet into an Ethernet frame: writes an Ethernet header over the head of its record
 * or block, which has been read. The blocks before have been read, too: the head of a simple packet
 * block is shorter. */
static void prepend_ethernet(uint8_t **frame, size_t *len)
{
	uint8_t version = *len ? **frame >> 4 : 0;
	uint8_t ethernet[ETHERNET_LEN] = {0};

	if (version == 4)
		memcpy(ethernet + 12, "\x08\x00", 2);
	else if (version == 6)
		memcpy(ethernet + 12, "\x86\xdd", 2);
	*frame -= ETHERNET_LEN;
	*len += ETHERNET_LEN;
	memcpy(*frame, ethernet, sizeof(ethernet));
}

/* Turns a cooked frame into an Ethernet frame: writes an Ethernet header over the end of the longer
 * cooked header. A frame that is cut off within the header becomes empty. */
static void make_ethernet(uint32_t link, uint8_t **frame, size_t *len)
{
	bool first = link == LINK_SLL;
	size_t head = first ? SLL_LEN : SLL2_LEN;
	uint8_t *p = *frame, ethernet[ETHERNET_LEN] = {0};

	if (link == LINK_RAW)
		prepend_ethernet(frame, len);
	if (link == LINK_ETHERNET || link == LINK_RAW)
		return;
	if (*len < head) {
		*len = 0;
		return;
	}
	if (p[first ? 5 : 11] == 6)
		memcpy(ethernet + 6, p + (first ? 6 : 12), 6);
	memcpy(ethernet + 12, p + (first ? 14 : 0), 2);
	*frame = p + head - ETHERNET_LEN;
	*len -= head - ETHERNET_LEN;
	memcpy(*frame, ethernet, sizeof(ethernet));
}

bool adv_pcap_open(struct adv_pcap *p, uint8_t *data, size_t len, char why[ADV_PCAP_WHY])
{
	uint32_t magic = first_word(data, len);

	*p = (struct adv_pcap){
		.data = data, .len = len, .at = HEAD_LEN, .pcapng = magic == MAGIC_PCAPNG};
	if (p->pcapng) {
		p->at = 0;
		return true;
	}
	p->swapped = is_magic(__builtin_bswap32(magic));
	if (!is_magic(p->swapped ? __builtin_bswap32(magic) : magic) || len < HEAD_LEN) {
		snprintf(why, ADV_PCAP_WHY, "no capture file: expected pcap or pcapng");
		return false;
	}
	p->link_now = get_u32(p, 20) & 0x0fffffff; /* the upper 4 bits are the FCS length */
	return is_known(p->link_now) || not_known(p->link_now, why);
}

static bool next_classic(struct adv_pcap *p, uint8_t **frame, size_t *len, bool *whole,
			 char why[ADV_PCAP_WHY])
{
	size_t left = p->len - p->at;
	uint32_t captured = left >= RECORD_LEN ? get_u32(p, p->at + 8) : 0;

	if (left < RECORD_LEN || captured > ADV_PCAP_FRAME_MAX || captured > left - RECORD_LEN)
		return refuse_damaged(p, why);
	*frame = p->data + p->at + RECORD_LEN;
	*len = captured;
	*whole = get_u32(p, p->at + 12) == captured;
	p->at += RECORD_LEN + captured;
	return true;
}

/* ---- pcapng ---- */

/* Returns the length of the block at p->at, whose body begins BLOCK_HEAD bytes later. If there is
 * no valid block, fills why[] and returns 0. */
static uint32_t block_length(struct adv_pcap *p, char why[ADV_PCAP_WHY])
{
	size_t left = p->len - p->at;
	uint32_t length;

	if (left < BLOCK_MIN) {
		refuse_damaged(p, why);
		return 0;
	}
	/* Each section has its own byte order. */
	if (get_u32(p, p->at) == MAGIC_PCAPNG) {
		p->swapped = false;
		p->swapped = get_u32(p, p->at + BLOCK_HEAD) == __builtin_bswap32(MAGIC_SECTION);
		p->interfaces = 0;
		if (get_u32(p, p->at + BLOCK_HEAD) != MAGIC_SECTION) {
			refuse_damaged(p, why);
			return 0;
		}
	}
	length = get_u32(p, p->at + 4);
	if (length < BLOCK_MIN || length % 4 || length > left ||
	    get_u32(p, p->at + length - 4) != length) {
		refuse_damaged(p, why);
		return 0;
	}
	return length;
}

static bool add_interface(struct adv_pcap *p, uint32_t body, char why[ADV_PCAP_WHY])
{
	uint16_t link;

	if (body < 8 || p->interfaces == ADV_PCAP_INTERFACES)
		return refuse_damaged(p, why);
	memcpy(&link, p->data + p->at + BLOCK_HEAD, sizeof(link));
	p->link[p->interfaces] = p->swapped ? __builtin_bswap16(link) : link;
	p->longest[p->interfaces++] = get_u32(p, p->at + BLOCK_HEAD + 4);
	return true;
}

/* Reads the packet of an enhanced or simple packet block with `body` bytes of body. */
static bool read_packet(struct adv_pcap *p, bool simple, uint32_t body, uint8_t **frame,
			size_t *len, bool *whole, char why[ADV_PCAP_WHY])
{
	uint32_t head = simple ? 4 : 20, interface, captured, original;
	size_t at = p->at + BLOCK_HEAD;

	if (body < head)
		return refuse_damaged(p, why);
	interface = simple ? 0 : get_u32(p, at);
	if (interface >= p->interfaces)
		return refuse_damaged(p, why);
	if (!is_known(p->link[interface]))
		return not_known(p->link[interface], why);
	p->link_now = p->link[interface];
	original = get_u32(p, at + head - 4);
	captured = simple ? original : get_u32(p, at + 12);
	if (simple && p->longest[0] && captured > p->longest[0])
		captured = p->longest[0];
	if (captured > ADV_PCAP_FRAME_MAX || captured > body - head)
		return refuse_damaged(p, why);
	*frame = p->data + at + head;
	*len = captured;
	*whole = original == captured;
	return true;
}

static bool next_pcapng(struct adv_pcap *p, uint8_t **frame, size_t *len, bool *whole,
			char why[ADV_PCAP_WHY])
{
	while (p->at < p->len) {
		uint32_t length = block_length(p, why), type;
		bool good = length != 0, packet = false;

		if (!good)
			return false;
		type = get_u32(p, p->at);
		if (type == BLOCK_INTERFACE)
			good = add_interface(p, length - BLOCK_MIN, why);
		packet = type == BLOCK_PACKET || type == BLOCK_SIMPLE;
		if (packet)
			good = read_packet(p, type == BLOCK_SIMPLE, length - BLOCK_MIN, frame, len,
					   whole, why);
		if (!good)
			return false;
		p->at += length;
		if (packet)
			return true;
	}
	return false;
}

bool adv_pcap_next(struct adv_pcap *p, const uint8_t **frame, size_t *len, bool *whole,
		   char why[ADV_PCAP_WHY])
{
	uint8_t *found = NULL;
	bool good;

	why[0] = '\0';
	if (p->at == p->len)
		return false;
	good = p->pcapng ? next_pcapng(p, &found, len, whole, why)
			 : next_classic(p, &found, len, whole, why);
	if (good)
		make_ethernet(p->link_now, &found, len);
	*frame = found;
	return good;
}

void adv_pcap_write_head(FILE *f)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, longest, link;
	} head = {MAGIC, 2, 4, 0, 0, ADV_PCAP_FRAME_MAX, LINK_ETHERNET};

	fwrite(&head, sizeof(head), 1, f);
}

void adv_pcap_write(FILE *f, uint64_t us, const uint8_t *frame, size_t len)
{
	uint32_t record[4] = {(uint32_t)(us / 1000000), (uint32_t)(us % 1000000), (uint32_t)len,
			      (uint32_t)len};

	fwrite(record, sizeof(record), 1, f);
	fwrite(frame, len, 1, f);
}
