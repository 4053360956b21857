/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints frames as text, as a tree and as JSON. */
#include "cli/frame/field.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/mac.h"
#include "cli/command/json.h"
#include "nic/wire/packet.h"

#define TREE_BYTES  32 /* bytes of a payload to print */
#define OPCODE_TEXT 64

static void print_hex(FILE *f, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(f, "%02x", p[i]);
}

static const char *address_text(const struct adv_frame_text *t, const uint8_t *addr,
				char text[INET6_ADDRSTRLEN])
{
	int family = t->frame.kind == ADV_FRAME_V2_IPV4 ? AF_INET : AF_INET6;

	return inet_ntop(family, addr, text, INET6_ADDRSTRLEN) ? text : "?";
}

/* Returns the name of an opcode, such as "RC_SEND_ONLY". */
static const char *format_opcode(uint8_t opcode, char text[OPCODE_TEXT])
{
	snprintf(text, OPCODE_TEXT, "%s", adv_opcode_table[opcode].name);
	for (char *p = text; *p; p++)
		if (*p == ' ')
			*p = '_';
	return text;
}

static void print_value(FILE *f, const struct adv_frame_field *field, uint64_t value)
{
	if (field->form == ADV_FORM_HEX)
		fprintf(f, "0x%" PRIx64, value);
	else
		fprintf(f, "%" PRIu64, value);
}

/* Prints the fields of a layer as words, each after a blank. */
static void print_fields(const struct adv_frame_text *t, FILE *f, enum adv_frame_layer layer)
{
	for (unsigned i = 0; i < adv_frame_field_count; i++) {
		const struct adv_frame_field *field = &adv_frame_fields[i];

		if (field->layer != layer || !adv_frame_field_is_in(t, field) ||
		    (layer == ADV_LAYER_ETHERNET && !t->frame.has_vlan))
			continue;
		fprintf(f, " %s=", field->name);
		print_value(f, field, adv_frame_field_get(t, field));
	}
}

static void print_addresses(const struct adv_frame_text *t, FILE *f, enum adv_frame_layer layer)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], dmac[ADV_MAC_TEXT], smac[ADV_MAC_TEXT];
	char opcode[OPCODE_TEXT];

	if (layer == ADV_LAYER_ETHERNET) {
		fprintf(f, " dmac=%s smac=%s", adv_mac_print(t->frame.dmac, dmac),
			adv_mac_print(t->frame.smac, smac));
	} else if (layer == ADV_LAYER_NETWORK) {
		fprintf(f, " src=%s dst=%s", address_text(t, t->frame.saddr, src),
			address_text(t, t->frame.daddr, dst));
	} else if (layer == ADV_LAYER_BTH && !t->has_transport) {
		fprintf(f, " op=%s", format_opcode(t->headers.bth.opcode, opcode));
	}
}

void adv_frame_text_print(const struct adv_frame_text *t, FILE *f)
{
	fprintf(f, "roce=%d", t->frame.kind == ADV_FRAME_V1 ? 1 : 2);
	for (enum adv_frame_layer layer = 0; layer < ADV_LAYER_END; layer++) {
		print_addresses(t, f, layer);
		print_fields(t, f, layer);
	}
	if (t->len || t->has_transport) {
		fprintf(f, t->has_transport ? " transport=" : " payload=");
		print_hex(f, t->bytes, t->len);
	}
	if (t->has_icrc)
		fprintf(f, " icrc=0x%08" PRIx32, t->frame.icrc);
	if (t->trailer_len) {
		fprintf(f, " trailer=");
		print_hex(f, t->trailer, t->trailer_len);
	}
	fputc('\n', f);
}

/* Prints the meaning of the AETH's syndrome (IBTA 9.7.5.1.2). */
static void print_syndrome(FILE *f, uint8_t syndrome)
{
	static const char *const naks[] = {"PSN sequence error", "invalid request",
					   "remote access error", "remote operational error",
					   "invalid RD request"};
	uint8_t value = syndrome & ADV_AETH_VALUE_MASK;

	switch (syndrome & ADV_AETH_TYPE_MASK) {
	case ADV_AETH_ACK:
		fprintf(f, value == ADV_AETH_NO_CREDITS ? " (ACK, no credits)" : " (ACK)");
		break;
	case ADV_AETH_RNR_NAK:
		fprintf(f, " (RNR NAK, wait %g ms)", (double)adv_rnr_timer_ns(value) / 1e6);
		break;
	case ADV_AETH_NAK:
		fprintf(f, " (NAK: %s)", value < 5 ? naks[value] : "reserved code");
		break;
	default:
		fprintf(f, " (reserved)");
	}
}

void adv_frame_text_print_packet(const struct adv_frame_text *t, bool good_icrc, FILE *f)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], opcode[OPCODE_TEXT];

	fprintf(f, "%s > %s", address_text(t, t->frame.saddr, src),
		address_text(t, t->frame.daddr, dst));
	if (t->has_transport) {
		fprintf(f, " transport=%zu", t->len);
	} else {
		fprintf(f, " %s", format_opcode(t->headers.bth.opcode, opcode));
		print_fields(t, f, ADV_LAYER_BTH);
		print_fields(t, f, ADV_LAYER_EXTENDED);
		if (adv_opcode_table[t->headers.bth.opcode].headers & ADV_HAS_AETH)
			print_syndrome(f, t->headers.aeth.syndrome);
		if (t->len)
			fprintf(f, " length=%zu", t->len);
	}
	if (t->ecn == ADV_ECN_CE)
		fprintf(f, " CE");
	fprintf(f, good_icrc ? "\n" : " wrong ICRC\n");
}

/* ---- as a tree ---- */

static const char *layer_name(const struct adv_frame_text *t, enum adv_frame_layer layer)
{
	static const char *const names[] = {"Ethernet", "IPv4", "UDP", "BTH"};

	if (layer != ADV_LAYER_NETWORK)
		return names[layer];
	return t->frame.kind == ADV_FRAME_V1	    ? "GRH"
	       : t->frame.kind == ADV_FRAME_V2_IPV6 ? "IPv6"
						    : "IPv4";
}

static bool has_layer(const struct adv_frame_text *t, enum adv_frame_layer layer)
{
	if (layer == ADV_LAYER_UDP)
		return t->frame.kind != ADV_FRAME_V1;
	if (layer == ADV_LAYER_BTH)
		return !t->has_transport;
	return true;
}

/* Prints a line for each header after the BTH. */
static void print_extended(const struct adv_frame_text *t, FILE *f)
{
	const char *header = "";

	for (unsigned i = 0; i < adv_frame_field_count; i++) {
		const struct adv_frame_field *field = &adv_frame_fields[i];

		if (field->layer != ADV_LAYER_EXTENDED || !adv_frame_field_is_in(t, field))
			continue;
		if (strcmp(header, field->header) != 0)
			fprintf(f, "%s  %-9s", *header ? "\n" : "", field->header);
		header = field->header;
		fprintf(f, " %s=", field->name);
		print_value(f, field, adv_frame_field_get(t, field));
		if (strcmp(field->name, "syndrome") == 0)
			print_syndrome(f, t->headers.aeth.syndrome);
	}
	if (*header)
		fputc('\n', f);
}

void adv_frame_text_print_tree(const struct adv_frame_text *t, bool good_icrc, FILE *f)
{
	size_t shown = t->len < TREE_BYTES ? t->len : TREE_BYTES;

	for (enum adv_frame_layer layer = 0; layer < ADV_LAYER_EXTENDED; layer++) {
		if (!has_layer(t, layer))
			continue;
		fprintf(f, "  %-9s", layer_name(t, layer));
		print_addresses(t, f, layer);
		print_fields(t, f, layer);
		fputc('\n', f);
	}
	print_extended(t, f);
	if (t->len) {
		fprintf(f, "  %-9s %zu bytes: ", t->has_transport ? "transport" : "payload",
			t->len);
		print_hex(f, t->bytes, shown);
		fprintf(f, shown < t->len ? "...\n" : "\n");
	}
	fprintf(f, "  %-9s 0x%08" PRIx32 " (%s)\n", "ICRC", t->frame.icrc,
		good_icrc ? "good" : "WRONG");
	if (t->trailer_len)
		fprintf(f, "  %-9s %zu bytes\n", "trailer", t->trailer_len);
}

/* ---- as JSON ---- */

static void add_addresses(const struct adv_frame_text *t, struct json_object *to)
{
	char mac[ADV_MAC_TEXT], ip[INET6_ADDRSTRLEN];

	adv_json_add_text(to, "dmac", adv_mac_print(t->frame.dmac, mac));
	adv_json_add_text(to, "smac", adv_mac_print(t->frame.smac, mac));
	adv_json_add_text(to, "src", address_text(t, t->frame.saddr, ip));
	adv_json_add_text(to, "dst", address_text(t, t->frame.daddr, ip));
}

void adv_frame_text_add_json(const struct adv_frame_text *t, bool good_icrc, struct json_object *to)
{
	char opcode[OPCODE_TEXT];

	adv_json_add_number(to, "roce", t->frame.kind == ADV_FRAME_V1 ? 1 : 2);
	add_addresses(t, to);
	if (!t->has_transport) {
		adv_json_add_text(to, "op", format_opcode(t->headers.bth.opcode, opcode));
		adv_json_add_number(to, "opcode", t->headers.bth.opcode);
	}
	for (unsigned i = 0; i < adv_frame_field_count; i++) {
		const struct adv_frame_field *field = &adv_frame_fields[i];

		if (adv_frame_field_is_in(t, field) &&
		    (field->layer != ADV_LAYER_ETHERNET || t->frame.has_vlan))
			adv_json_add_number(to, field->name, adv_frame_field_get(t, field));
	}
	adv_json_add_hex(to, t->has_transport ? "transport" : "payload", t->bytes, t->len);
	adv_json_add_number(to, "icrc", t->frame.icrc);
	adv_json_add_flag(to, "icrc_good", good_icrc);
	if (t->trailer_len)
		adv_json_add_hex(to, "trailer", t->trailer, t->trailer_len);
}
