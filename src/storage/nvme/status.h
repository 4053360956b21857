/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The status of a completion (NVMe Base 1.4, section 4.6.1): the status code type in bits 10:8, the
 * status code in bits 7:0. ADV_NVME_DNR is set besides if a repeated command would fail again.
 */
#ifndef ADV_STORAGE_NVME_STATUS_H
#define ADV_STORAGE_NVME_STATUS_H

#include <stdint.h>

#define ADV_NVME_DNR	    0x4000 /* do not retry */
#define ADV_NVME_MORE	    0x2000 /* the error log has more about it */
#define ADV_NVME_CODE(code) ((uint16_t)((code)&0x7ff))

enum adv_nvme_status {
	/* generic */
	ADV_NVME_SUCCESS = 0x000,
	ADV_NVME_INVALID_OPCODE = 0x001,
	ADV_NVME_INVALID_FIELD = 0x002,
	ADV_NVME_ID_CONFLICT = 0x003,
	ADV_NVME_DATA_TRANSFER_ERROR = 0x004,
	ADV_NVME_INTERNAL_ERROR = 0x006,
	ADV_NVME_ABORT_REQUESTED = 0x007,
	ADV_NVME_ABORTED_SQ_DELETION = 0x008,
	ADV_NVME_FAILED_FUSED = 0x009,
	ADV_NVME_MISSING_FUSED = 0x00a,
	ADV_NVME_INVALID_NAMESPACE = 0x00b,
	ADV_NVME_SEQUENCE_ERROR = 0x00c,
	ADV_NVME_INVALID_SGL_SEGMENT = 0x00d,
	ADV_NVME_INVALID_SGL_COUNT = 0x00e,
	ADV_NVME_INVALID_SGL_LENGTH = 0x00f,
	ADV_NVME_INVALID_SGL_TYPE = 0x011,
	ADV_NVME_INVALID_SGL_OFFSET = 0x016,
	ADV_NVME_HOST_ID_INCONSISTENT = 0x018,
	ADV_NVME_KEEP_ALIVE_EXPIRED = 0x019,
	ADV_NVME_KEEP_ALIVE_INVALID = 0x01a,
	ADV_NVME_WRITE_PROTECTED = 0x020,
	ADV_NVME_LBA_RANGE = 0x080,
	ADV_NVME_CAPACITY_EXCEEDED = 0x081,
	ADV_NVME_NAMESPACE_NOT_READY = 0x082,
	/* of one command */
	ADV_NVME_AER_LIMIT = 0x105,
	ADV_NVME_INVALID_LOG_PAGE = 0x109,
	ADV_NVME_FEATURE_NOT_SAVEABLE = 0x10d,
	ADV_NVME_FEATURE_NOT_CHANGEABLE = 0x10e,
	ADV_NVME_COPY_LIMIT = 0x183, /* of Copy; the number is also that of CONNECT_RESTART */
	/* of fabrics commands (NVMe over Fabrics 1.1, section 3.1) */
	ADV_NVME_CONNECT_FORMAT = 0x180,
	ADV_NVME_CONNECT_BUSY = 0x181,
	ADV_NVME_CONNECT_INVALID = 0x182, /* ADV_NVME_CONNECT_WHERE() is the result */
	ADV_NVME_CONNECT_RESTART = 0x183,
	ADV_NVME_CONNECT_HOST = 0x184,
	ADV_NVME_AUTHENTICATION_REQUIRED = 0x191,
	/* of the media */
	ADV_NVME_WRITE_FAULT = 0x280,
	ADV_NVME_READ_ERROR = 0x281,
	ADV_NVME_COMPARE_FAILURE = 0x285,
	ADV_NVME_ACCESS_DENIED = 0x286,
};

/* The result of ADV_NVME_CONNECT_INVALID: byte `offset` is wrong, of the Connect data if `data`,
 * else of the command. */
#define ADV_NVME_CONNECT_WHERE(data, offset) ((uint32_t)(data) << 16 | (uint16_t)(offset))

/* Returns the name of a status in words, without regard to its DNR and More bits. Never NULL. */
const char *adv_nvme_status_name(uint16_t status);

#endif
