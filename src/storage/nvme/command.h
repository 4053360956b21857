/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Submission and completion queue entries and their SGL descriptors (NVMe Base 1.4, sections 4.2,
 * 4.4 and 4.6; NVMe over Fabrics 1.1, section 2). Numbers of the structures are in host byte order.
 */
#ifndef ADV_STORAGE_NVME_COMMAND_H
#define ADV_STORAGE_NVME_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_NVME_COMMAND_LEN	64
#define ADV_NVME_COMPLETION_LEN 16

#define ADV_NVME_OPCODE_FABRICS 0x7f

enum adv_nvme_admin_opcode {
	ADV_NVME_GET_LOG_PAGE = 0x02,
	ADV_NVME_IDENTIFY = 0x06,
	ADV_NVME_ABORT = 0x08,
	ADV_NVME_SET_FEATURES = 0x09,
	ADV_NVME_GET_FEATURES = 0x0a,
	ADV_NVME_ASYNC_EVENT_REQUEST = 0x0c,
	ADV_NVME_KEEP_ALIVE = 0x18,
};

enum adv_nvme_io_opcode {
	ADV_NVME_FLUSH = 0x00,
	ADV_NVME_WRITE = 0x01,
	ADV_NVME_READ = 0x02,
	ADV_NVME_COMPARE = 0x05,
	ADV_NVME_WRITE_ZEROES = 0x08,
	ADV_NVME_DATASET_MANAGEMENT = 0x09,
	ADV_NVME_COPY = 0x19,
};

enum adv_nvme_fabrics_type {
	ADV_NVME_PROPERTY_SET = 0x00,
	ADV_NVME_CONNECT = 0x01,
	ADV_NVME_PROPERTY_GET = 0x04,
	ADV_NVME_AUTHENTICATION_SEND = 0x05,
	ADV_NVME_AUTHENTICATION_RECEIVE = 0x06,
	ADV_NVME_DISCONNECT = 0x08,
};

/* The direction of a command's data: the low two bits of an opcode, or of a fabrics type. */
enum adv_nvme_direction {
	ADV_NVME_NO_DATA = 0,
	ADV_NVME_TO_CONTROLLER = 1,
	ADV_NVME_TO_HOST = 2,
};

/* The identifier of an SGL descriptor: the type in the upper half, the subtype in the lower one. */
enum adv_nvme_sgl_id {
	ADV_NVME_SGL_ADDRESS = 0x00,	     /* a data block at an address: not for RDMA */
	ADV_NVME_SGL_OFFSET = 0x01,	     /* a data block in the capsule */
	ADV_NVME_SGL_KEYED = 0x40,	     /* a keyed data block */
	ADV_NVME_SGL_KEYED_INVALIDATE = 0x4f /* the same; the response invalidates the key */
};

struct adv_nvme_sgl {
	uint8_t id;	  /* enum adv_nvme_sgl_id, or any other byte */
	uint32_t length;  /* bytes; of a keyed data block 24 bits */
	uint32_t key;	  /* R_Key; 0 for a data block */
	uint64_t address; /* the host's address, or the offset in the capsule's data */
};

/* The fuse field: a command by itself, or the first or second one of a pair that executes as one.
 */
enum adv_nvme_fuse { ADV_NVME_NOT_FUSED, ADV_NVME_FUSED_FIRST, ADV_NVME_FUSED_SECOND };

struct adv_nvme_command {
	uint8_t opcode;
	uint8_t fuse; /* bits 1:0 of the flags: enum adv_nvme_fuse, or 3 */
	uint8_t psdt; /* bits 7:6: 1 for an SGL */
	uint16_t id;  /* command identifier */
	uint8_t fabrics_type;
	uint32_t nsid; /* shares its bytes with fabrics_type */
	struct adv_nvme_sgl sgl;
	uint32_t cdw2, cdw3;
	uint32_t cdw[6]; /* command Dwords 10 to 15 */
};

#define ADV_NVME_CDW(command, n) ((command)->cdw[(n)-10])

struct adv_nvme_completion {
	uint64_t result;
	uint16_t sq_head;
	uint16_t sq_id;
	uint16_t id;
	uint16_t status; /* enum adv_nvme_status with ADV_NVME_DNR; the phase bit is left out */
};

void adv_nvme_sgl_decode(const uint8_t in[16], struct adv_nvme_sgl *sgl);
/* Encodes any descriptor whose numbers fit: a keyed length of more than 24 bits is cut. */
void adv_nvme_sgl_encode(const struct adv_nvme_sgl *sgl, uint8_t out[16]);

/* Decodes the first 64 bytes of a capsule. False: it is shorter. */
bool adv_nvme_command_decode(const uint8_t *in, size_t len, struct adv_nvme_command *command);
void adv_nvme_command_encode(const struct adv_nvme_command *command,
			     uint8_t out[ADV_NVME_COMMAND_LEN]);

/* Decodes a response capsule, of exactly 16 bytes: no response carries data. False: it has another
 * length. */
bool adv_nvme_completion_decode(const uint8_t *in, size_t len, struct adv_nvme_completion *c);
void adv_nvme_completion_encode(const struct adv_nvme_completion *c,
				uint8_t out[ADV_NVME_COMPLETION_LEN]);

/* Returns the direction of the command's data by its opcode or fabrics type. */
enum adv_nvme_direction adv_nvme_command_direction(const struct adv_nvme_command *command);

/* Returns the name of a command for messages. `admin`: of the admin queue. Never NULL. */
const char *adv_nvme_command_name(const struct adv_nvme_command *command, bool admin);

/* Read, Write, Compare and Write Zeroes: the first block, and the number of blocks (at least 1). */
static inline uint64_t adv_nvme_command_slba(const struct adv_nvme_command *c)
{
	return ADV_NVME_CDW(c, 10) | (uint64_t)ADV_NVME_CDW(c, 11) << 32;
}

static inline uint32_t adv_nvme_command_blocks(const struct adv_nvme_command *c)
{
	return (ADV_NVME_CDW(c, 12) & 0xffff) + 1;
}

#define ADV_NVME_FUA (1u << 30) /* force unit access, in Dword 12 */

/* Makes a Read, Write, Compare or Write Zeroes. `blocks` is from 1 to 65,536. */
void adv_nvme_command_set_blocks(struct adv_nvme_command *c, uint64_t slba, uint32_t blocks);

/* A range of a Dataset Management command, 16 bytes. */
struct adv_nvme_range {
	uint32_t attributes;
	uint32_t blocks;
	uint64_t slba;
};

#define ADV_NVME_RANGE_LEN  16
#define ADV_NVME_RANGES_MAX 256
#define ADV_NVME_DEALLOCATE 0x4u /* in Dword 11 of Dataset Management */

/* A source range of a Copy command, format 0 (NVM Command Set 1.0, section 3.2.2), 32 bytes. */
struct adv_nvme_source {
	uint64_t slba;
	uint32_t blocks; /* 1 to 65,536 */
};

#define ADV_NVME_SOURCE_LEN  32
#define ADV_NVME_SOURCES_MAX 128

/* Of Dword 12 of Copy: the number of ranges, and their format. */
#define ADV_NVME_COPY_SOURCES(cdw12) (((cdw12)&0xff) + 1)
#define ADV_NVME_COPY_FORMAT(cdw12)  ((cdw12) >> 8 & 0xf)

void adv_nvme_source_decode(const uint8_t in[ADV_NVME_SOURCE_LEN], struct adv_nvme_source *source);
void adv_nvme_source_encode(const struct adv_nvme_source *source, uint8_t out[ADV_NVME_SOURCE_LEN]);

void adv_nvme_range_decode(const uint8_t in[ADV_NVME_RANGE_LEN], struct adv_nvme_range *range);
void adv_nvme_range_encode(const struct adv_nvme_range *range, uint8_t out[ADV_NVME_RANGE_LEN]);

#endif
