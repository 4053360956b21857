/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/log_page.h"

#include <string.h>

#include "base/bytes.h"
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

void adv_nvme_error_encode(const struct adv_nvme_error *e, uint8_t out[ADV_NVME_ERROR_LEN])
{
	memset(out, 0, ADV_NVME_ERROR_LEN);
	adv_put_le64(out, e->count);
	adv_put_le16(out + 8, e->qid);
	adv_put_le16(out + 10, e->cid);
	adv_put_le16(out + 12, (uint16_t)(e->status << 1));
	adv_put_le16(out + 14, e->location);
	adv_put_le64(out + 16, e->lba);
	adv_put_le32(out + 24, e->nsid);
}

void adv_nvme_error_decode(const uint8_t in[ADV_NVME_ERROR_LEN], struct adv_nvme_error *e)
{
	memset(e, 0, sizeof(*e));
	e->count = adv_get_le64(in);
	e->qid = adv_get_le16(in + 8);
	e->cid = adv_get_le16(in + 10);
	e->status = adv_get_le16(in + 12) >> 1;
	e->location = adv_get_le16(in + 14);
	e->lba = adv_get_le64(in + 16);
	e->nsid = adv_get_le32(in + 24);
}

/* The numbers of 16 bytes in the SMART log; their upper halves stay 0. */
enum {
	AT_UNITS_READ = 32,
	AT_UNITS_WRITTEN = 48,
	AT_READS = 64,
	AT_WRITES = 80,
	AT_BUSY = 96,
	AT_POWER_CYCLES = 112,
	AT_POWER_ON = 128,
	AT_UNSAFE = 144,
	AT_MEDIA_ERRORS = 160,
	AT_ERROR_ENTRIES = 176,
};

void adv_nvme_smart_encode(const struct adv_nvme_smart *s, uint8_t out[ADV_NVME_SMART_LEN])
{
	memset(out, 0, ADV_NVME_SMART_LEN);
	out[0] = s->critical_warning;
	adv_put_le16(out + 1, s->temperature);
	out[3] = s->spare;
	out[4] = s->spare_threshold;
	out[5] = s->used;
	adv_put_le64(out + AT_UNITS_READ, s->units_read);
	adv_put_le64(out + AT_UNITS_WRITTEN, s->units_written);
	adv_put_le64(out + AT_READS, s->reads);
	adv_put_le64(out + AT_WRITES, s->writes);
	adv_put_le64(out + AT_BUSY, s->busy_minutes);
	adv_put_le64(out + AT_POWER_CYCLES, s->power_cycles);
	adv_put_le64(out + AT_POWER_ON, s->power_on_hours);
	adv_put_le64(out + AT_UNSAFE, s->unsafe_shutdowns);
	adv_put_le64(out + AT_MEDIA_ERRORS, s->media_errors);
	adv_put_le64(out + AT_ERROR_ENTRIES, s->error_entries);
}

void adv_nvme_smart_decode(const uint8_t in[ADV_NVME_SMART_LEN], struct adv_nvme_smart *s)
{
	memset(s, 0, sizeof(*s));
	s->critical_warning = in[0];
	s->temperature = adv_get_le16(in + 1);
	s->spare = in[3];
	s->spare_threshold = in[4];
	s->used = in[5];
	s->units_read = adv_get_le64(in + AT_UNITS_READ);
	s->units_written = adv_get_le64(in + AT_UNITS_WRITTEN);
	s->reads = adv_get_le64(in + AT_READS);
	s->writes = adv_get_le64(in + AT_WRITES);
	s->busy_minutes = adv_get_le64(in + AT_BUSY);
	s->power_cycles = adv_get_le64(in + AT_POWER_CYCLES);
	s->power_on_hours = adv_get_le64(in + AT_POWER_ON);
	s->unsafe_shutdowns = adv_get_le64(in + AT_UNSAFE);
	s->media_errors = adv_get_le64(in + AT_MEDIA_ERRORS);
	s->error_entries = adv_get_le64(in + AT_ERROR_ENTRIES);
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

/* Addresses and ports are padded with spaces, the NQN with zeros. */
void adv_nvme_discovery_entry_encode(const struct adv_nvme_discovery_entry *e,
				     uint8_t out[ADV_NVME_DISCOVERY_LEN])
{
	memset(out, 0, ADV_NVME_DISCOVERY_LEN);
	out[0] = e->trtype;
	out[1] = e->adrfam;
	out[2] = e->subtype;
	out[3] = e->treq;
	adv_put_le16(out + 4, e->portid);
	adv_put_le16(out + 6, e->cntlid);
	adv_put_le16(out + 8, e->asqsz);
	adv_kit_put_text(out + AT_TRSVCID, ADV_NVME_TRSVCID_LEN, e->trsvcid);
	memcpy(out + AT_SUBNQN, e->subnqn, strnlen(e->subnqn, ADV_NVME_NQN_MAX));
	adv_kit_put_text(out + AT_TRADDR, ADV_NVME_TRADDR_LEN, e->traddr);
	out[AT_TSAS] = e->rdma_qptype;
	out[AT_TSAS + 1] = e->rdma_prtype;
	out[AT_TSAS + 2] = e->rdma_cms;
}

void adv_nvme_discovery_entry_decode(const uint8_t in[ADV_NVME_DISCOVERY_LEN],
				     struct adv_nvme_discovery_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->trtype = in[0];
	e->adrfam = in[1];
	e->subtype = in[2];
	e->treq = in[3];
	e->portid = adv_get_le16(in + 4);
	e->cntlid = adv_get_le16(in + 6);
	e->asqsz = adv_get_le16(in + 8);
	adv_kit_get_text(e->trsvcid, in + AT_TRSVCID, ADV_NVME_TRSVCID_LEN);
	memcpy(e->subnqn, in + AT_SUBNQN, ADV_NVME_NQN_MAX);
	adv_kit_get_text(e->traddr, in + AT_TRADDR, ADV_NVME_TRADDR_LEN);
	e->rdma_qptype = in[AT_TSAS];
	e->rdma_prtype = in[AT_TSAS + 1];
	e->rdma_cms = in[AT_TSAS + 2];
}
