/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/identify.h"

#include <string.h>

#include "base/bytes.h"
#include "storage/kit/text.h"

void adv_nvme_identify_controller_encode(const struct adv_nvme_identify_controller *c,
					 uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	adv_put_le16(out, c->vid);
	adv_put_le16(out + 2, c->ssvid);
	adv_kit_put_text(out + 4, ADV_NVME_SERIAL_LEN, c->serial);
	adv_kit_put_text(out + 24, ADV_NVME_MODEL_LEN, c->model);
	adv_kit_put_text(out + 64, ADV_NVME_FIRMWARE_LEN, c->firmware);
	out[76] = c->cmic;
	out[77] = c->mdts;
	adv_put_le16(out + 78, c->cntlid);
	adv_put_le32(out + 80, c->ver);
	adv_put_le32(out + 92, c->oaes);
	adv_put_le32(out + 96, c->ctratt);
	out[111] = c->cntrltype;
	out[258] = c->acl;
	out[259] = c->aerl;
	out[260] = c->frmw;
	out[261] = c->lpa;
	out[262] = c->elpe;
	adv_put_le16(out + 266, c->wctemp);
	adv_put_le16(out + 268, c->cctemp);
	adv_put_le16(out + 320, c->kas);
	out[342] = c->anatt;
	out[343] = c->anacap;
	adv_put_le32(out + 344, c->anagrpmax);
	adv_put_le32(out + 348, c->nanagrpid);
	out[512] = c->sqes;
	out[513] = c->cqes;
	adv_put_le16(out + 514, c->maxcmd);
	adv_put_le32(out + 516, c->nn);
	adv_put_le16(out + 520, c->oncs);
	adv_put_le16(out + 522, c->fuses);
	out[525] = c->vwc;
	adv_put_le16(out + 534, c->ocfs);
	adv_put_le32(out + 536, c->sgls);
	adv_put_le32(out + 540, c->mnan);
	memcpy(out + 768, c->subnqn, strnlen(c->subnqn, ADV_NVME_NQN_MAX));
	adv_put_le32(out + 1792, c->ioccsz);
	adv_put_le32(out + 1796, c->iorcsz);
	adv_put_le16(out + 1800, c->icdoff);
	out[1802] = c->fcatt;
	out[1803] = c->msdbd;
}

void adv_nvme_identify_controller_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					 struct adv_nvme_identify_controller *c)
{
	memset(c, 0, sizeof(*c));
	c->vid = adv_get_le16(in);
	c->ssvid = adv_get_le16(in + 2);
	adv_kit_get_text(c->serial, in + 4, ADV_NVME_SERIAL_LEN);
	adv_kit_get_text(c->model, in + 24, ADV_NVME_MODEL_LEN);
	adv_kit_get_text(c->firmware, in + 64, ADV_NVME_FIRMWARE_LEN);
	c->cmic = in[76];
	c->mdts = in[77];
	c->cntlid = adv_get_le16(in + 78);
	c->ver = adv_get_le32(in + 80);
	c->oaes = adv_get_le32(in + 92);
	c->ctratt = adv_get_le32(in + 96);
	c->cntrltype = in[111];
	c->acl = in[258];
	c->aerl = in[259];
	c->frmw = in[260];
	c->lpa = in[261];
	c->elpe = in[262];
	c->wctemp = adv_get_le16(in + 266);
	c->cctemp = adv_get_le16(in + 268);
	c->kas = adv_get_le16(in + 320);
	c->anatt = in[342];
	c->anacap = in[343];
	c->anagrpmax = adv_get_le32(in + 344);
	c->nanagrpid = adv_get_le32(in + 348);
	c->sqes = in[512];
	c->cqes = in[513];
	c->maxcmd = adv_get_le16(in + 514);
	c->nn = adv_get_le32(in + 516);
	c->oncs = adv_get_le16(in + 520);
	c->fuses = adv_get_le16(in + 522);
	c->vwc = in[525];
	c->ocfs = adv_get_le16(in + 534);
	c->sgls = adv_get_le32(in + 536);
	c->mnan = adv_get_le32(in + 540);
	memcpy(c->subnqn, in + 768, ADV_NVME_NQN_MAX);
	c->ioccsz = adv_get_le32(in + 1792);
	c->iorcsz = adv_get_le32(in + 1796);
	c->icdoff = adv_get_le16(in + 1800);
	c->fcatt = in[1802];
	c->msdbd = in[1803];
}

void adv_nvme_identify_namespace_encode(const struct adv_nvme_identify_namespace *n,
					uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	adv_put_le64(out, n->nsze);
	adv_put_le64(out + 8, n->ncap);
	adv_put_le64(out + 16, n->nuse);
	out[24] = n->nsfeat;
	/* NLBAF (byte 25) and FLBAS (byte 26) are 0: one format, which is in use. */
	out[30] = n->nmic;
	out[33] = n->dlfeat;
	adv_put_le16(out + 74, n->mssrl);
	adv_put_le32(out + 76, n->mcl);
	out[80] = n->msrc;
	adv_put_le32(out + 92, n->anagrpid);
	out[99] = n->nsattr;
	memcpy(out + 104, n->nguid, sizeof(n->nguid));
	adv_put_le16(out + 128, n->metadata);
	out[130] = n->block_shift;
}

void adv_nvme_identify_namespace_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					struct adv_nvme_identify_namespace *n)
{
	const uint8_t *format = in + 128 + 4 * (in[26] & 0xf);

	memset(n, 0, sizeof(*n));
	n->nsze = adv_get_le64(in);
	n->ncap = adv_get_le64(in + 8);
	n->nuse = adv_get_le64(in + 16);
	n->nsfeat = in[24];
	n->nmic = in[30];
	n->dlfeat = in[33];
	n->mssrl = adv_get_le16(in + 74);
	n->mcl = adv_get_le32(in + 76);
	n->msrc = in[80];
	n->anagrpid = adv_get_le32(in + 92);
	n->nsattr = in[99];
	memcpy(n->nguid, in + 104, sizeof(n->nguid));
	n->metadata = adv_get_le16(format);
	n->block_shift = format[2];
}

void adv_nvme_identify_list_encode(const uint32_t *nsids, size_t count,
				   uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	for (size_t i = 0; i < count && i < ADV_NVME_LIST_MAX; i++)
		adv_put_le32(out + 4 * i, nsids[i]);
}

size_t adv_nvme_identify_list_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
				     uint32_t nsids[ADV_NVME_LIST_MAX])
{
	uint32_t last = 0;
	size_t count;

	for (count = 0; count < ADV_NVME_LIST_MAX; count++) {
		uint32_t nsid = adv_get_le32(in + 4 * count);

		if (nsid <= last || nsid == ADV_NVME_ALL_NAMESPACES)
			break;
		nsids[count] = nsid;
		last = nsid;
	}
	return count;
}

enum { TYPE_NGUID = 2, TYPE_UUID = 3, DESCRIPTOR_HEADER = 4 };

static size_t put_descriptor(uint8_t *out, uint8_t type, const uint8_t id[ADV_NVME_UUID_LEN])
{
	out[0] = type;
	out[1] = ADV_NVME_UUID_LEN;
	memcpy(out + DESCRIPTOR_HEADER, id, ADV_NVME_UUID_LEN);
	return DESCRIPTOR_HEADER + ADV_NVME_UUID_LEN;
}

void adv_nvme_descriptors_encode(const struct adv_nvme_descriptors *d,
				 uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	size_t at = 0;

	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	if (d->has_nguid)
		at += put_descriptor(out + at, TYPE_NGUID, d->nguid);
	if (d->has_uuid)
		put_descriptor(out + at, TYPE_UUID, d->uuid);
}

bool adv_nvme_descriptors_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
				 struct adv_nvme_descriptors *d)
{
	size_t at = 0;

	memset(d, 0, sizeof(*d));
	while (at + DESCRIPTOR_HEADER <= ADV_NVME_IDENTIFY_LEN && in[at + 1] != 0) {
		const uint8_t *id = in + at + DESCRIPTOR_HEADER;
		uint8_t type = in[at], len = in[at + 1];

		at += DESCRIPTOR_HEADER + len;
		if (at > ADV_NVME_IDENTIFY_LEN)
			return false;
		if (type != TYPE_NGUID && type != TYPE_UUID)
			continue;
		if (len != ADV_NVME_UUID_LEN)
			return false;
		memcpy(type == TYPE_UUID ? d->uuid : d->nguid, id, ADV_NVME_UUID_LEN);
		if (type == TYPE_UUID)
			d->has_uuid = true;
		else
			d->has_nguid = true;
	}
	return true;
}
