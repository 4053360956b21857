/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/log_page.h"

#include <string.h>

#include "base/bytes.h"
#include "base/layout.h"
#include "storage/kit/text.h"

bool adv_nvme_get_log_decode(const struct adv_nvme_command *command, struct adv_nvme_get_log *log)
{
	uint64_t dwords = (ADV_NVME_CDW(command, 10) >> 16 |
			   (uint64_t)(ADV_NVME_CDW(command, 11) & 0xffff) << 16) +
			  1;

	if (dwords > UINT32_MAX / 4)
		return false;
	log->id = (uint8_t)ADV_NVME_CDW(command, 10);
	log->retain = ADV_NVME_CDW(command, 10) >> 15 & 1;
	log->length = (uint32_t)dwords * 4;
	log->offset = ADV_NVME_CDW(command, 12) | (uint64_t)ADV_NVME_CDW(command, 13) << 32;
	return true;
}

void adv_nvme_get_log_encode(const struct adv_nvme_get_log *log, struct adv_nvme_command *command)
{
	uint32_t dwords = log->length / 4 - 1;

	command->opcode = ADV_NVME_GET_LOG_PAGE;
	ADV_NVME_CDW(command, 10) = log->id | (uint32_t)log->retain << 15 | dwords << 16;
	ADV_NVME_CDW(command, 11) = dwords >> 16;
	ADV_NVME_CDW(command, 12) = (uint32_t)log->offset;
	ADV_NVME_CDW(command, 13) = (uint32_t)(log->offset >> 32);
}

/* A row is: first byte, bits below, bits, member. */
#define ERROR(member) ADV_FIELD_INTO(struct adv_nvme_error, member)

static const struct adv_field error_fields[] = {
	{0, 0, 64, ERROR(count)},   {8, 0, 16, ERROR(qid)},	  {10, 0, 16, ERROR(cid)},
	{12, 1, 15, ERROR(status)}, {14, 0, 16, ERROR(location)}, {16, 0, 64, ERROR(lba)},
	{24, 0, 32, ERROR(nsid)},
};

static const struct adv_layout error_layout = ADV_LAYOUT_LE(error_fields);

void adv_nvme_error_encode(const struct adv_nvme_error *e, uint8_t out[ADV_NVME_ERROR_LEN])
{
	memset(out, 0, ADV_NVME_ERROR_LEN);
	adv_layout_encode(&error_layout, e, out);
}

void adv_nvme_error_decode(const uint8_t in[ADV_NVME_ERROR_LEN], struct adv_nvme_error *e)
{
	memset(e, 0, sizeof(*e));
	adv_layout_decode(&error_layout, in, e);
}

/* The numbers from byte 32 on have 16 bytes; their upper halves stay 0. */
#define SMART(member) ADV_FIELD_INTO(struct adv_nvme_smart, member)

static const struct adv_field smart_fields[] = {
	{0, 0, 8, SMART(critical_warning)},
	{1, 0, 16, SMART(temperature)},
	{3, 0, 8, SMART(spare)},
	{4, 0, 8, SMART(spare_threshold)},
	{5, 0, 8, SMART(used)},
	{32, 0, 64, SMART(units_read)},
	{48, 0, 64, SMART(units_written)},
	{64, 0, 64, SMART(reads)},
	{80, 0, 64, SMART(writes)},
	{96, 0, 64, SMART(busy_minutes)},
	{112, 0, 64, SMART(power_cycles)},
	{128, 0, 64, SMART(power_on_hours)},
	{144, 0, 64, SMART(unsafe_shutdowns)},
	{160, 0, 64, SMART(media_errors)},
	{176, 0, 64, SMART(error_entries)},
};

static const struct adv_layout smart_layout = ADV_LAYOUT_LE(smart_fields);

void adv_nvme_smart_encode(const struct adv_nvme_smart *s, uint8_t out[ADV_NVME_SMART_LEN])
{
	memset(out, 0, ADV_NVME_SMART_LEN);
	adv_layout_encode(&smart_layout, s, out);
}

void adv_nvme_smart_decode(const uint8_t in[ADV_NVME_SMART_LEN], struct adv_nvme_smart *s)
{
	memset(s, 0, sizeof(*s));
	adv_layout_decode(&smart_layout, in, s);
}

void adv_nvme_ana_encode(const struct adv_nvme_ana_group *group, uint8_t *out)
{
	uint8_t *at = out + ADV_NVME_ANA_HEADER;

	memset(out, 0, ADV_NVME_ANA_LEN(group->count));
	adv_put_le16(out + 8, 1); /* groups */
	adv_put_le32(at, group->id);
	adv_put_le32(at + 4, group->count);
	at[16] = group->state;
	for (uint32_t i = 0; i < group->count; i++)
		adv_put_le32(at + ADV_NVME_ANA_GROUP_LEN + 4 * (size_t)i, group->nsids[i]);
}

void adv_nvme_discovery_header_encode(const struct adv_nvme_discovery_header *h,
				      uint8_t out[ADV_NVME_DISCOVERY_LEN])
{
	memset(out, 0, ADV_NVME_DISCOVERY_LEN);
	adv_put_le64(out, h->generation);
	adv_put_le64(out + 8, h->records);
}

bool adv_nvme_discovery_header_decode(const uint8_t in[ADV_NVME_DISCOVERY_LEN],
				      struct adv_nvme_discovery_header *h)
{
	h->generation = adv_get_le64(in);
	h->records = adv_get_le64(in + 8);
	return adv_get_le16(in + 16) == 0;
}

enum { AT_TRSVCID = 32, AT_SUBNQN = 256, AT_TRADDR = 512, AT_TSAS = 768 };

#define ENTRY(member) ADV_FIELD_INTO(struct adv_nvme_discovery_entry, member)

static const struct adv_field entry_fields[] = {
	{0, 0, 8, ENTRY(trtype)},
	{1, 0, 8, ENTRY(adrfam)},
	{2, 0, 8, ENTRY(subtype)},
	{3, 0, 8, ENTRY(treq)},
	{4, 0, 16, ENTRY(portid)},
	{6, 0, 16, ENTRY(cntlid)},
	{8, 0, 16, ENTRY(asqsz)},
	{AT_TSAS, 0, 8, ENTRY(rdma_qptype)},
	{AT_TSAS + 1, 0, 8, ENTRY(rdma_prtype)},
	{AT_TSAS + 2, 0, 8, ENTRY(rdma_cms)},
};

static const struct adv_layout entry_layout = ADV_LAYOUT_LE(entry_fields);

/* Addresses and ports are padded with spaces, the NQN with zeros. */
void adv_nvme_discovery_entry_encode(const struct adv_nvme_discovery_entry *e,
				     uint8_t out[ADV_NVME_DISCOVERY_LEN])
{
	memset(out, 0, ADV_NVME_DISCOVERY_LEN);
	adv_layout_encode(&entry_layout, e, out);
	adv_kit_put_text(out + AT_TRSVCID, ADV_NVME_TRSVCID_LEN, e->trsvcid);
	memcpy(out + AT_SUBNQN, e->subnqn, strnlen(e->subnqn, ADV_NVME_NQN_MAX));
	adv_kit_put_text(out + AT_TRADDR, ADV_NVME_TRADDR_LEN, e->traddr);
}

void adv_nvme_discovery_entry_decode(const uint8_t in[ADV_NVME_DISCOVERY_LEN],
				     struct adv_nvme_discovery_entry *e)
{
	memset(e, 0, sizeof(*e));
	adv_layout_decode(&entry_layout, in, e);
	adv_kit_get_text(e->trsvcid, in + AT_TRSVCID, ADV_NVME_TRSVCID_LEN);
	memcpy(e->subnqn, in + AT_SUBNQN, ADV_NVME_NQN_MAX);
	adv_kit_get_text(e->traddr, in + AT_TRADDR, ADV_NVME_TRADDR_LEN);
}
