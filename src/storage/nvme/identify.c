/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/identify.h"

#include <string.h>

#include "base/bytes.h"
#include "base/layout.h"
#include "storage/kit/text.h"

enum { AT_SERIAL = 4, AT_MODEL = 24, AT_FIRMWARE = 64, AT_SUBNQN = 768 };

/* A row is: first byte, bits below, bits, member. */
#define CONTROLLER(member) ADV_FIELD_INTO(struct adv_nvme_identify_controller, member)

static const struct adv_field controller_fields[] = {
	{0, 0, 16, CONTROLLER(vid)},	     {2, 0, 16, CONTROLLER(ssvid)},
	{76, 0, 8, CONTROLLER(cmic)},	     {77, 0, 8, CONTROLLER(mdts)},
	{78, 0, 16, CONTROLLER(cntlid)},     {80, 0, 32, CONTROLLER(ver)},
	{92, 0, 32, CONTROLLER(oaes)},	     {96, 0, 32, CONTROLLER(ctratt)},
	{111, 0, 8, CONTROLLER(cntrltype)},  {258, 0, 8, CONTROLLER(acl)},
	{259, 0, 8, CONTROLLER(aerl)},	     {260, 0, 8, CONTROLLER(frmw)},
	{261, 0, 8, CONTROLLER(lpa)},	     {262, 0, 8, CONTROLLER(elpe)},
	{266, 0, 16, CONTROLLER(wctemp)},    {268, 0, 16, CONTROLLER(cctemp)},
	{320, 0, 16, CONTROLLER(kas)},	     {342, 0, 8, CONTROLLER(anatt)},
	{343, 0, 8, CONTROLLER(anacap)},     {344, 0, 32, CONTROLLER(anagrpmax)},
	{348, 0, 32, CONTROLLER(nanagrpid)}, {512, 0, 8, CONTROLLER(sqes)},
	{513, 0, 8, CONTROLLER(cqes)},	     {514, 0, 16, CONTROLLER(maxcmd)},
	{516, 0, 32, CONTROLLER(nn)},	     {520, 0, 16, CONTROLLER(oncs)},
	{522, 0, 16, CONTROLLER(fuses)},     {525, 0, 8, CONTROLLER(vwc)},
	{534, 0, 16, CONTROLLER(ocfs)},	     {536, 0, 32, CONTROLLER(sgls)},
	{540, 0, 32, CONTROLLER(mnan)},	     {1792, 0, 32, CONTROLLER(ioccsz)},
	{1796, 0, 32, CONTROLLER(iorcsz)},   {1800, 0, 16, CONTROLLER(icdoff)},
	{1802, 0, 8, CONTROLLER(fcatt)},     {1803, 0, 8, CONTROLLER(msdbd)},
};

static const struct adv_layout controller_layout = ADV_LAYOUT_LE(controller_fields);

void adv_nvme_identify_controller_encode(const struct adv_nvme_identify_controller *c,
					 uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	adv_layout_encode(&controller_layout, c, out);
	adv_kit_put_text(out + AT_SERIAL, ADV_NVME_SERIAL_LEN, c->serial);
	adv_kit_put_text(out + AT_MODEL, ADV_NVME_MODEL_LEN, c->model);
	adv_kit_put_text(out + AT_FIRMWARE, ADV_NVME_FIRMWARE_LEN, c->firmware);
	memcpy(out + AT_SUBNQN, c->subnqn, strnlen(c->subnqn, ADV_NVME_NQN_MAX));
}

void adv_nvme_identify_controller_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					 struct adv_nvme_identify_controller *c)
{
	memset(c, 0, sizeof(*c));
	adv_layout_decode(&controller_layout, in, c);
	adv_kit_get_text(c->serial, in + AT_SERIAL, ADV_NVME_SERIAL_LEN);
	adv_kit_get_text(c->model, in + AT_MODEL, ADV_NVME_MODEL_LEN);
	adv_kit_get_text(c->firmware, in + AT_FIRMWARE, ADV_NVME_FIRMWARE_LEN);
	memcpy(c->subnqn, in + AT_SUBNQN, ADV_NVME_NQN_MAX);
}

enum { AT_FORMATS = 128 };

#define NAMESPACE(member) ADV_FIELD_INTO(struct adv_nvme_identify_namespace, member)

static const struct adv_field namespace_fields[] = {
	{0, 0, 64, NAMESPACE(nsze)},   {8, 0, 64, NAMESPACE(ncap)},
	{16, 0, 64, NAMESPACE(nuse)},  {24, 0, 8, NAMESPACE(nsfeat)},
	{30, 0, 8, NAMESPACE(nmic)},   {33, 0, 8, NAMESPACE(dlfeat)},
	{74, 0, 16, NAMESPACE(mssrl)}, {76, 0, 32, NAMESPACE(mcl)},
	{80, 0, 8, NAMESPACE(msrc)},   {92, 0, 32, NAMESPACE(anagrpid)},
	{99, 0, 8, NAMESPACE(nsattr)}, {104, 0, 0, NAMESPACE(nguid)},
};

/* Of an LBA format. */
static const struct adv_field format_fields[] = {
	{0, 0, 16, NAMESPACE(metadata)},
	{2, 0, 8, NAMESPACE(block_shift)},
};

static const struct adv_layout format_layout = ADV_LAYOUT_LE(format_fields);
static const struct adv_layout namespace_layout = ADV_LAYOUT_LE(namespace_fields);

void adv_nvme_identify_namespace_encode(const struct adv_nvme_identify_namespace *n,
					uint8_t out[ADV_NVME_IDENTIFY_LEN])
{
	memset(out, 0, ADV_NVME_IDENTIFY_LEN);
	adv_layout_encode(&namespace_layout, n, out);
	/* NLBAF (byte 25) and FLBAS (byte 26) are 0: one format, which is in use. */
	adv_layout_encode(&format_layout, n, out + AT_FORMATS);
}

void adv_nvme_identify_namespace_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					struct adv_nvme_identify_namespace *n)
{
	memset(n, 0, sizeof(*n));
	adv_layout_decode(&namespace_layout, in, n);
	adv_layout_decode(&format_layout, in + AT_FORMATS + 4 * (in[26] & 0xf), n);
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
