/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts frames from text to bytes and from bytes to text. */
#include "cli/frame/field.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/shown.h"

#define SHOWN	    36 /* characters of an input that a message shows */
#define TTL_USUAL   64
#define SPORT_USUAL 0xc000

struct parser {
	struct adv_frame_text *t;
	char *why;
	bool v1;
	bool has_src, has_dst;
	bool src_ipv4, dst_ipv4;
	bool seen[8]; /* words that the text has and whose value is not a plain number */
};

struct word {
	const char *name;
	size_t name_len;
	const char *value;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static bool fail_text(struct parser *p, const char *format,
							    ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, ADV_FRAME_WHY, format, args);
	va_end(args);
	return false;
}

static bool bad_value(struct parser *p, const struct word *w, const char *expected)
{
	return fail_text(p, "%s: '%s': expected %s", adv_show(w->name, w->name_len, SHOWN).text,
			 adv_show(w->value, w->len, SHOWN).text, expected);
}

static bool word_is(const struct word *w, const char *name)
{
	return strlen(name) == w->name_len && memcmp(w->name, name, w->name_len) == 0;
}

/* ---- values ---- */

/* Reads bytes of two hexadecimal digits; ':' is allowed between bytes. */
static bool read_hex(struct parser *p, const struct word *w, uint8_t *out, size_t room, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < w->len; i += 2) {
		int byte;

		if (w->value[i] == ':' && *n && i + 1 < w->len)
			i++;
		byte = i + 1 < w->len ? adv_number_hex_byte(w->value + i) : -1;
		if (byte < 0)
			return bad_value(p, w, "two hexadecimal digits a byte");
		if (*n == room)
			return fail_text(p, "%s: more than %zu bytes",
					 adv_show(w->name, w->name_len, SHOWN).text, room);
		out[(*n)++] = (uint8_t)byte;
	}
	return true;
}

static bool read_mac(struct parser *p, const struct word *w, uint8_t mac[6])
{
	size_t n;

	return w->len == 17 && read_hex(p, w, mac, 6, &n) && n == 6
		       ? true
		       : bad_value(p, w, "an address such as 02:00:00:00:00:01");
}

static bool read_address(struct parser *p, const struct word *w, uint8_t addr[16], bool *ipv4)
{
	char text[INET6_ADDRSTRLEN + 1];

	if (w->len >= sizeof(text))
		return bad_value(p, w, "an IPv4 or IPv6 address");
	memcpy(text, w->value, w->len);
	text[w->len] = '\0';
	memset(addr, 0, 16);
	*ipv4 = strlen(text) == w->len && inet_pton(AF_INET, text, addr) == 1;
	if (*ipv4 || (strlen(text) == w->len && inet_pton(AF_INET6, text, addr) == 1))
		return true;
	return bad_value(p, w, "an IPv4 or IPv6 address");
}

/* Reads an opcode: "RC_SEND_ONLY" for "RC SEND_ONLY", in upper or lower case; or its number. */
static bool read_opcode(struct parser *p, const struct word *w)
{
	uint64_t number;

	for (unsigned i = 0; i < 256; i++) {
		const char *name = adv_opcode_table[i].name;
		size_t k = 0;

		if (!name || strlen(name) != w->len)
			continue;
		while (k < w->len && (strncasecmp(name + k, w->value + k, 1) == 0 ||
				      (name[k] == ' ' && w->value[k] == '_')))
			k++;
		if (k < w->len)
			continue;
		p->t->headers.bth.opcode = (uint8_t)i;
		return true;
	}
	if (!adv_number_read(w->value, w->len, 255, &number) || !adv_opcode_table[number].name)
		return bad_value(
			p, w,
			"an opcode such as RC_SEND_ONLY, or its number (others: transport=BYTES)");
	p->t->headers.bth.opcode = (uint8_t)number;
	return true;
}

/* ---- words ---- */

static bool set_number(struct parser *p, const struct word *w, unsigned i)
{
	const struct adv_frame_field *f = &adv_frame_fields[i];
	char expected[64];
	uint64_t value;

	if (p->t->given & UINT64_C(1) << i)
		return fail_text(p, "%s: given twice", f->name);
	snprintf(expected, sizeof(expected), "a number from 0 to %llu", (unsigned long long)f->max);
	if (!adv_number_read(w->value, w->len, f->max, &value))
		return bad_value(p, w, expected);
	adv_frame_field_set(p->t, f, value);
	p->t->given |= UINT64_C(1) << i;
	return true;
}

static bool set_roce(struct parser *p, const struct word *w)
{
	if (w->len != 1 || (w->value[0] != '1' && w->value[0] != '2'))
		return bad_value(p, w, "1 or 2");
	p->v1 = w->value[0] == '1';
	return true;
}

static bool set_icrc(struct parser *p, const struct word *w)
{
	uint64_t value;

	if (!adv_number_read(w->value, w->len, UINT32_MAX, &value))
		return bad_value(p, w, "a number of 32 bits");
	p->t->frame.icrc = (uint32_t)value;
	p->t->has_icrc = true;
	return true;
}

/* Sets a word whose value is not a plain number; `which` is its place in parser.seen. */
static bool set_other(struct parser *p, const struct word *w, unsigned which)
{
	struct adv_frame_text *t = p->t;

	switch (which) {
	case 0:
		return set_roce(p, w);
	case 1:
		return read_mac(p, w, t->frame.dmac);
	case 2:
		return read_mac(p, w, t->frame.smac);
	case 3:
		p->has_src = true;
		return read_address(p, w, t->frame.saddr, &p->src_ipv4);
	case 4:
		p->has_dst = true;
		return read_address(p, w, t->frame.daddr, &p->dst_ipv4);
	case 5:
		t->has_opcode = true;
		return read_opcode(p, w);
	case 6:
		return set_icrc(p, w);
	default:
		return read_hex(p, w, t->trailer, sizeof(t->trailer), &t->trailer_len);
	}
}

static bool set_bytes(struct parser *p, const struct word *w)
{
	struct adv_frame_text *t = p->t;

	if (t->len || t->has_transport)
		return fail_text(p, "payload or transport: given twice");
	t->has_transport = word_is(w, "transport");
	return read_hex(p, w, t->bytes, sizeof(t->bytes), &t->len);
}

static bool set_word(struct parser *p, const struct word *w)
{
	static const char *const others[] = {"roce", "dmac", "smac", "src",
					     "dst",  "op",   "icrc", "trailer"};

	if (!w->value)
		return fail_text(p, "'%s': expected NAME=VALUE",
				 adv_show(w->name, w->name_len, SHOWN).text);
	for (unsigned i = 0; i < 8; i++) {
		if (!word_is(w, others[i]))
			continue;
		if (p->seen[i])
			return fail_text(p, "%s: given twice", others[i]);
		p->seen[i] = true;
		return set_other(p, w, i);
	}
	if (word_is(w, "payload") || word_is(w, "transport"))
		return set_bytes(p, w);
	for (unsigned i = 0; i < adv_frame_field_count; i++)
		if (word_is(w, adv_frame_fields[i].name))
			return set_number(p, w, i);
	return fail_text(p, "'%s': no such field", adv_show(w->name, w->name_len, SHOWN).text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool set_words(struct parser *p, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		struct word w = {.name = s + i};
		size_t begin = i;
		const char *equals;

		if (is_blank(s[i])) {
			i++;
			continue;
		}
		while (i < len && !is_blank(s[i]))
			i++;
		equals = memchr(s + begin, '=', i - begin);
		w.name_len = equals ? (size_t)(equals - w.name) : i - begin;
		w.value = equals ? equals + 1 : NULL;
		w.len = equals ? i - begin - w.name_len - 1 : 0;
		if (!set_word(p, &w))
			return false;
	}
	return true;
}

/* ---- a whole frame ---- */

static bool set_kind(struct parser *p)
{
	struct adv_frame *f = &p->t->frame;

	if (!p->has_src || !p->has_dst)
		return fail_text(p, "%s is needed: an IPv4 or IPv6 address",
				 p->has_src ? "dst" : "src");
	if (p->src_ipv4 != p->dst_ipv4)
		return fail_text(p,
				 "src and dst: one is an IPv4 address, the other an IPv6 address");
	if (p->v1 && p->src_ipv4)
		return fail_text(
			p, "src and dst: RoCE v1 has GIDs: IPv6 addresses, or ::ffff:192.0.2.1");
	f->kind = p->v1 ? ADV_FRAME_V1 : p->src_ipv4 ? ADV_FRAME_V2_IPV4 : ADV_FRAME_V2_IPV6;
	return true;
}

static bool check_fields(struct parser *p)
{
	struct adv_frame_text *t = p->t;

	if (t->has_transport ? t->has_opcode : !t->has_opcode)
		return fail_text(p, t->has_transport
					    ? "transport: replaces op and everything after it"
					    : "op is needed, such as op=RC_SEND_ONLY");
	if (t->has_transport && t->len < ADV_BTH_LEN)
		return fail_text(p, "transport: expected %d bytes at least, a BTH", ADV_BTH_LEN);
	for (unsigned i = 0; i < adv_frame_field_count; i++) {
		const struct adv_frame_field *f = &adv_frame_fields[i];

		if ((t->given & UINT64_C(1) << i) && !adv_frame_field_is_in(t, f))
			return fail_text(p, "%s: this frame has no %s", f->name, f->header);
	}
	return true;
}

static bool was_given(const struct adv_frame_text *t, const char *name)
{
	for (unsigned i = 0; i < adv_frame_field_count; i++)
		if (strcmp(adv_frame_fields[i].name, name) == 0)
			return t->given & UINT64_C(1) << i;
	return false;
}

static void set_usual(struct adv_frame_text *t)
{
	static const uint8_t dmac[6] = {2, 0, 0, 0, 0, 2}, smac[6] = {2, 0, 0, 0, 0, 1};

	memset(t, 0, offsetof(struct adv_frame_text, trailer));
	memcpy(t->frame.dmac, dmac, 6);
	memcpy(t->frame.smac, smac, 6);
	t->frame.hop_limit = TTL_USUAL;
	t->frame.ip_df = true;
	t->frame.sport = SPORT_USUAL;
	t->frame.dport = ADV_ROCE_UDP_PORT;
	t->headers.bth.pkey = ADV_PKEY_DEFAULT;
}

bool adv_frame_text_parse(struct adv_frame_text *t, const char *text, size_t len,
			  char why[ADV_FRAME_WHY])
{
	struct parser p = {.t = t, .why = why};

	set_usual(t);
	if (!set_words(&p, text, len) || !set_kind(&p) || !check_fields(&p))
		return false;
	t->frame.has_vlan = was_given(t, "vlan") || was_given(t, "pcp") || was_given(t, "dei");
	t->has_pad = was_given(t, "pad");
	if (!t->has_pad)
		t->headers.bth.pad = (uint8_t)(-t->len & 3);
	if (!was_given(t, "length"))
		t->headers.reth.length = (uint32_t)t->len;
	return true;
}

size_t adv_frame_text_build(struct adv_frame_text *t, uint8_t *out, size_t room,
			    char why[ADV_FRAME_WHY])
{
	static uint8_t transport[ADV_HEADERS_MAX + ADV_FRAME_BYTES_MAX + 3];
	size_t n = 0, pad = t->has_transport ? 0 : t->headers.bth.pad;
	struct adv_frame f = t->frame;
	uint32_t icrc;

	t->headers.immdt = htonl(t->immdt);
	if (!t->has_transport)
		n = adv_headers_encode(&t->headers, transport);
	memcpy(transport + n, t->bytes, t->len);
	memset(transport + n + t->len, 0, pad);
	f.transport = transport;
	f.transport_len = n + t->len + pad;
	f.vlan_tci = (uint16_t)(t->pcp << 13 | (t->dei ? 1 : 0) << 12 | t->vlan);
	f.tclass = (uint8_t)(t->dscp << 2 | t->ecn);
	n = adv_frame_build(&f, out, room);
	if (n == 0 || n + t->trailer_len > room) {
		snprintf(why, ADV_FRAME_WHY, "payload: %zu bytes are more than an IP packet holds",
			 t->len);
		return 0;
	}
	if (t->has_icrc) {
		icrc = t->frame.icrc;
		for (unsigned i = 0; i < ADV_ICRC_LEN; i++)
			out[n - ADV_ICRC_LEN + i] = (uint8_t)(icrc >> 8 * i);
	}
	memcpy(out + n, t->trailer, t->trailer_len);
	return n + t->trailer_len;
}

/* ---- from bytes ---- */

/* True if the transport's fields describe all of its bytes. */
static bool read_transport(struct adv_frame_text *t, const uint8_t *p, size_t len)
{
	uint8_t again[ADV_HEADERS_MAX];
	size_t n = adv_headers_decode(p, len, &t->headers), pad;

	if (n == 0)
		return false;
	pad = t->headers.bth.pad;
	if (pad > len - n || adv_headers_encode(&t->headers, again) != n ||
	    memcmp(again, p, n) != 0)
		return false;
	for (size_t i = 0; i < pad; i++)
		if (p[len - 1 - i] != 0)
			return false;
	t->len = len - n - pad;
	memcpy(t->bytes, p + n, t->len);
	t->immdt = ntohl(t->headers.immdt);
	t->has_opcode = true;
	t->has_pad = true;
	return true;
}

enum adv_frame_error adv_frame_text_read(struct adv_frame_text *t, const uint8_t *frame, size_t len,
					 bool *good_icrc)
{
	enum adv_frame_error error;
	size_t used;

	memset(t, 0, offsetof(struct adv_frame_text, trailer));
	error = adv_frame_parse(frame, len, &t->frame);
	if (error)
		return error;
	used = (size_t)(t->frame.transport - frame) + t->frame.transport_len + ADV_ICRC_LEN;
	if (len - used > sizeof(t->trailer) || t->frame.transport_len > sizeof(t->bytes))
		return ADV_FRAME_MALFORMED;
	t->trailer_len = len - used;
	memcpy(t->trailer, frame + used, t->trailer_len);
	t->vlan = t->frame.vlan_tci & 0xfff;
	t->dei = t->frame.vlan_tci >> 12 & 1;
	t->pcp = (uint8_t)(t->frame.vlan_tci >> 13);
	t->dscp = t->frame.tclass >> 2;
	t->ecn = t->frame.tclass & 3;
	*good_icrc = t->frame.icrc == adv_frame_icrc(&t->frame);
	t->has_icrc = !*good_icrc;
	if (!read_transport(t, t->frame.transport, t->frame.transport_len)) {
		t->has_transport = true;
		t->len = t->frame.transport_len;
		memcpy(t->bytes, t->frame.transport, t->len);
	}
	t->frame.transport = NULL;
	return ADV_FRAME_OK;
}
