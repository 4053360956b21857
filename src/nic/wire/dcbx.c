/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/dcbx.h"

#include <string.h>

#include "base/bytes.h"

/* TLV types of IEEE 802.1AB 8.4, and subtypes of 802.1Q D.2. */
enum { TLV_END = 0, TLV_CHASSIS = 1, TLV_PORT = 2, TLV_TTL = 3, TLV_ORGANIZATION = 127 };
enum { ETS_CONFIGURATION = 9, ETS_RECOMMENDATION = 10, PFC = 11, APPLICATION = 12 };

#define SUBTYPE_MAC 4 /* of a chassis; of a port it is 3 */
#define TTL	    120
#define ETS_LEN	    25 /* OUI, subtype, flags, 4 bytes of classes, 8 of bandwidths, 8 of algorithms */
#define PFC_LEN	    6
#define APP_LEN	    5 /* without entries */
#define APP_ENTRY   3
#define VLAN	    0x8100

static const uint8_t nearest_bridge[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
static const uint8_t oui_8021[3] = {0x00, 0x80, 0xc2};
static const uint8_t oui_cee[3] = {0x00, 0x1b, 0x21}; /* of Intel, for CEE */
static const uint8_t oui_cisco[3] = {0x00, 0x01, 0x42};

/* ---- write ---- */

static uint8_t *put_16(uint8_t *at, unsigned value)
{
	adv_put_be16(at, (uint16_t)value);
	return at + 2;
}

static uint8_t *put_head(uint8_t *at, unsigned type, unsigned len)
{
	return put_16(at, type << 9 | len);
}

static uint8_t *put_organization(uint8_t *at, unsigned subtype, unsigned len)
{
	at = put_head(at, TLV_ORGANIZATION, len);
	memcpy(at, oui_8021, 3);
	at[3] = (uint8_t)subtype;
	return at + 4;
}

static uint8_t *put_ets(uint8_t *at, const struct adv_dcbx_ets *e, bool recommendation)
{
	if (!e->present)
		return at;
	at = put_organization(at, recommendation ? ETS_RECOMMENDATION : ETS_CONFIGURATION, ETS_LEN);
	/* 8 classes are written as 0. The first byte of a recommendation is reserved. */
	*at++ = recommendation ? 0
			       : (uint8_t)(e->willing << 7 | e->cbs << 6 | (e->max_classes & 7));
	for (unsigned i = 0; i < ADV_DCBX_CLASSES; i += 2)
		*at++ = (uint8_t)((e->class_of[i] & 15) << 4 | (e->class_of[i + 1] & 15));
	memcpy(at, e->percent, ADV_DCBX_CLASSES);
	memcpy(at + ADV_DCBX_CLASSES, e->algorithm, ADV_DCBX_CLASSES);
	return at + 2 * ADV_DCBX_CLASSES;
}

static uint8_t *put_apps(uint8_t *at, const struct adv_dcbx *d)
{
	if (d->apps == 0)
		return at;
	at = put_organization(at, APPLICATION, APP_LEN + d->apps * APP_ENTRY);
	*at++ = 0;
	for (unsigned i = 0; i < d->apps; i++) {
		*at++ = (uint8_t)((d->app[i].priority & 7) << 5 | (d->app[i].selector & 7));
		at = put_16(at, d->app[i].protocol);
	}
	return at;
}

size_t adv_dcbx_encode(const struct adv_dcbx *d, uint8_t *frame, size_t room)
{
	uint8_t *at = frame;

	if (d->apps > ADV_DCBX_APPS || room < ADV_DCBX_FRAME_MAX)
		return 0;
	memcpy(at, nearest_bridge, 6);
	memcpy(at + 6, d->mac, 6);
	at = put_16(at + 12, ADV_LLDP_ETHERTYPE);
	at = put_head(at, TLV_CHASSIS, 7);
	*at++ = SUBTYPE_MAC;
	memcpy(at, d->mac, 6);
	at = put_head(at + 6, TLV_PORT, 7);
	*at++ = SUBTYPE_MAC - 1;
	memcpy(at, d->mac, 6);
	at = put_head(at + 6, TLV_TTL, 2);
	at = put_16(at, TTL);
	at = put_ets(at, &d->configuration, false);
	at = put_ets(at, &d->recommendation, true);
	if (d->pfc.present) {
		at = put_organization(at, PFC, PFC_LEN);
		*at++ = (uint8_t)(d->pfc.willing << 7 | d->pfc.mbc << 6 | (d->pfc.classes & 15));
		*at++ = d->pfc.enabled;
	}
	at = put_apps(at, d);
	at = put_head(at, TLV_END, 0);
	return (size_t)(at - frame);
}

/* ---- read ---- */

static void read_ets(const uint8_t *value, struct adv_dcbx_ets *e, bool recommendation)
{
	if (e->present)
		return;
	e->present = true;
	if (!recommendation) {
		e->willing = value[4] >> 7;
		e->cbs = value[4] >> 6 & 1;
		e->max_classes = value[4] & 7 ? value[4] & 7 : 8;
	}
	for (unsigned i = 0; i < ADV_DCBX_CLASSES; i++) {
		uint8_t two = value[5 + i / 2];

		e->class_of[i] = i % 2 ? two & 15 : two >> 4;
	}
	memcpy(e->percent, value + 9, ADV_DCBX_CLASSES);
	memcpy(e->algorithm, value + 17, ADV_DCBX_CLASSES);
}

static void read_pfc(const uint8_t *value, struct adv_dcbx *d)
{
	if (d->pfc.present)
		return;
	d->pfc.present = true;
	d->pfc.willing = value[4] >> 7;
	d->pfc.mbc = value[4] >> 6 & 1;
	d->pfc.classes = value[4] & 15;
	d->pfc.enabled = value[5];
}

static void read_apps(const uint8_t *value, unsigned len, struct adv_dcbx *d)
{
	for (unsigned at = APP_LEN; at + APP_ENTRY <= len; at += APP_ENTRY) {
		if (d->apps == ADV_DCBX_APPS) {
			d->more_apps = true;
			return;
		}
		d->app[d->apps++] = (struct adv_dcbx_app){.priority = value[at] >> 5,
							  .selector = value[at] & 7,
							  .protocol = adv_get_be16(value + at + 1)};
	}
}

/* Reads an organizationally specific TLV; others than DCBX are skipped. Returns NULL or the
 * error. */
static const char *read_organization(const uint8_t *value, unsigned len, struct adv_dcbx *d)
{
	if (len < 4)
		return "an organizationally specific TLV is too short";
	if (!memcmp(value, oui_cee, 3) || !memcmp(value, oui_cisco, 3))
		d->old = true;
	if (memcmp(value, oui_8021, 3) != 0)
		return NULL;
	switch (value[3]) {
	case ETS_CONFIGURATION:
	case ETS_RECOMMENDATION:
		if (len < ETS_LEN)
			return "an ETS TLV is too short";
		read_ets(value,
			 value[3] == ETS_CONFIGURATION ? &d->configuration : &d->recommendation,
			 value[3] == ETS_RECOMMENDATION);
		return NULL;
	case PFC:
		if (len < PFC_LEN)
			return "the PFC TLV is too short";
		read_pfc(value, d);
		return NULL;
	case APPLICATION:
		if (len < APP_LEN)
			return "the application priority TLV is too short";
		read_apps(value, len, d);
		return NULL;
	default:
		return NULL;
	}
}

const char *adv_dcbx_decode(const uint8_t *frame, size_t len, struct adv_dcbx *d)
{
	const uint8_t *at = frame + 14, *end = frame + len;

	memset(d, 0, sizeof(*d));
	if (len >= 18 && adv_get_be16(frame + 12) == VLAN)
		at += 4;
	if (len < 14 || adv_get_be16(at - 2) != ADV_LLDP_ETHERTYPE)
		return "it is no LLDP frame";
	memcpy(d->mac, frame + 6, 6);
	for (;;) {
		unsigned type, size;
		const char *wrong;

		if (end - at < 2)
			return "its last TLV is missing";
		type = adv_get_be16(at) >> 9u;
		size = adv_get_be16(at) & 511u;
		at += 2;
		if (type == TLV_END)
			return NULL;
		if ((size_t)(end - at) < size)
			return "a TLV ends behind the frame";
		wrong = type == TLV_ORGANIZATION ? read_organization(at, size, d) : NULL;
		if (wrong)
			return wrong;
		at += size;
	}
}
