/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The structures of Identify (NVMe Base 1.4, section 5.15; NVMe over Fabrics 1.1, section 4.1): the
 * fields that the target sets or the host reads. Numbers are in host byte order. Strings end with a
 * 0; in the structure they are padded with spaces (NQNs with zeros).
 */
#ifndef ADV_STORAGE_NVME_IDENTIFY_H
#define ADV_STORAGE_NVME_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/connect.h"

#define ADV_NVME_IDENTIFY_LEN	4096
#define ADV_NVME_SERIAL_LEN	20
#define ADV_NVME_MODEL_LEN	40
#define ADV_NVME_FIRMWARE_LEN	8
#define ADV_NVME_UUID_LEN	16
#define ADV_NVME_LIST_MAX	1024 /* namespace ids in a list */
#define ADV_NVME_ALL_NAMESPACES 0xffffffffu
#define ADV_NVME_PAGE_SHIFT	12 /* CAP.MPSMIN 0: MDTS counts in pages of 4 KiB */

/* What Identify returns: its CNS (Dword 10, bits 7:0). */
enum adv_nvme_cns {
	ADV_NVME_CNS_NAMESPACE = 0x00,
	ADV_NVME_CNS_CONTROLLER = 0x01,
	ADV_NVME_CNS_ACTIVE_LIST = 0x02,
	ADV_NVME_CNS_DESCRIPTORS = 0x03,
};

enum adv_nvme_controller_type { ADV_NVME_IO_CONTROLLER = 1, ADV_NVME_DISCOVERY_CONTROLLER = 2 };

#define ADV_NVME_ONCS_COMPARE	   0x0001
#define ADV_NVME_ONCS_DSM	   0x0004
#define ADV_NVME_ONCS_WRITE_ZEROES 0x0008
#define ADV_NVME_ONCS_COPY	   0x0100
#define ADV_NVME_OCFS_FORMAT_0	   0x0001

#define ADV_NVME_OAES_NAMESPACE	   0x00000100u /* namespace attribute notices */
#define ADV_NVME_OAES_DISCOVERY	   0x80000000u /* discovery log page change notices */

#define ADV_NVME_SGLS_SUPPORTED	   0x00000001u /* any alignment */
#define ADV_NVME_SGLS_KEYED	   0x00000004u
#define ADV_NVME_SGLS_OFFSET	   0x00100000u /* offsets in the capsule */

#define ADV_NVME_VWC_PRESENT	   0x01
#define ADV_NVME_VWC_NO_BROADCAST  0x04 /* Flush of all namespaces is not supported */
#define ADV_NVME_CTRATT_HOSTID	   0x1	/* host identifiers of 128 bits */
#define ADV_NVME_LPA_EXTENDED	   0x04 /* Get Log Page has an offset and a long length */
#define ADV_NVME_CMIC_CONTROLLERS  0x02 /* the subsystem has several controllers */
#define ADV_NVME_CMIC_ANA	   0x08 /* asymmetric namespace access reporting */
#define ADV_NVME_ANACAP_OPTIMIZED  0x01
#define ADV_NVME_FUSES_COMPARE	   0x0001 /* fused Compare and Write */

struct adv_nvme_identify_controller {
	uint16_t vid;
	uint16_t ssvid;
	char serial[ADV_NVME_SERIAL_LEN + 1];
	char model[ADV_NVME_MODEL_LEN + 1];
	char firmware[ADV_NVME_FIRMWARE_LEN + 1];
	uint8_t cmic;
	uint8_t mdts; /* log2 of pages of 4 KiB; 0: no limit */
	uint16_t cntlid;
	uint32_t ver;
	uint32_t oaes;
	uint32_t ctratt;
	uint8_t cntrltype;
	uint8_t acl;  /* 0's based */
	uint8_t aerl; /* 0's based */
	uint8_t frmw;
	uint8_t lpa;
	uint8_t elpe;		 /* 0's based */
	uint16_t wctemp, cctemp; /* K */
	uint16_t kas;		 /* 100 ms */
	uint8_t anatt;		 /* s */
	uint8_t anacap;
	uint32_t anagrpmax, nanagrpid;
	uint8_t sqes, cqes;
	uint16_t maxcmd;
	uint32_t nn;
	uint16_t oncs;
	uint16_t fuses;
	uint8_t vwc;
	uint16_t ocfs; /* formats of Copy */
	uint32_t sgls;
	uint32_t mnan; /* most namespaces */
	char subnqn[ADV_NVME_NQN_LEN];
	uint32_t ioccsz; /* 16 bytes */
	uint32_t iorcsz; /* 16 bytes */
	uint16_t icdoff; /* 16 bytes */
	uint8_t fcatt;	 /* 0: the dynamic model */
	uint8_t msdbd;
};

void adv_nvme_identify_controller_encode(const struct adv_nvme_identify_controller *c,
					 uint8_t out[ADV_NVME_IDENTIFY_LEN]);
/* Any bytes decode; strings end within their limits. */
void adv_nvme_identify_controller_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					 struct adv_nvme_identify_controller *c);

#define ADV_NVME_NSFEAT_THIN	  0x01
#define ADV_NVME_NSATTR_PROTECTED 0x01

struct adv_nvme_identify_namespace {
	uint64_t nsze, ncap, nuse; /* blocks */
	uint8_t nsfeat;
	uint8_t nmic;
	uint8_t dlfeat;
	uint8_t nsattr;
	uint16_t mssrl; /* most blocks of a source range of Copy */
	uint32_t mcl;	/* of all its ranges */
	uint8_t msrc;	/* most ranges, 0's based */
	uint32_t anagrpid;
	uint8_t nguid[ADV_NVME_UUID_LEN];
	uint8_t block_shift; /* log2 of the block's bytes: LBADS of the format in use */
	uint16_t metadata;   /* bytes of metadata of each block */
};

void adv_nvme_identify_namespace_encode(const struct adv_nvme_identify_namespace *n,
					uint8_t out[ADV_NVME_IDENTIFY_LEN]);
void adv_nvme_identify_namespace_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
					struct adv_nvme_identify_namespace *n);

/* The active namespaces of a list in rising order: encoding takes at most ADV_NVME_LIST_MAX ids;
 * decoding returns their number and stops at the first id that is 0 or not greater. */
void adv_nvme_identify_list_encode(const uint32_t *nsids, size_t count,
				   uint8_t out[ADV_NVME_IDENTIFY_LEN]);
size_t adv_nvme_identify_list_decode(const uint8_t in[ADV_NVME_IDENTIFY_LEN],
				     uint32_t nsids[ADV_NVME_LIST_MAX]);

/* The identification descriptors of a namespace. */
struct adv_nvme_descriptors {
	bool has_nguid, has_uuid;
	uint8_t nguid[ADV_NVME_UUID_LEN];
	uint8_t uuid[ADV_NVME_UUID_LEN];
};

void adv_nvme_descriptors_encode(const struct adv_nvme_descriptors *d,
				 uint8_t out[ADV_NVME_IDENTIFY_LEN]);

#endif
