/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log pages and features (NVMe Base 1.4, sections 5.14 and 5.21; NVMe over Fabrics 1.1, section 5):
 * the fields of their commands, and the structures of the pages. Numbers of the structures are in
 * host byte order.
 */
#ifndef ADV_STORAGE_NVME_LOG_PAGE_H
#define ADV_STORAGE_NVME_LOG_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/connect.h"

enum adv_nvme_log_id {
	ADV_NVME_LOG_ERROR = 0x01,
	ADV_NVME_LOG_SMART = 0x02,
	ADV_NVME_LOG_FIRMWARE = 0x03,
	ADV_NVME_LOG_CHANGED_NAMESPACES = 0x04,
	ADV_NVME_LOG_ANA = 0x0c,
	ADV_NVME_LOG_DISCOVERY = 0x70,
};

/* The fields of a Get Log Page command. */
struct adv_nvme_get_log {
	uint8_t id;
	bool retain;	 /* the page keeps its asynchronous event */
	uint32_t length; /* bytes; a multiple of 4 */
	uint64_t offset; /* bytes */
};

/* False: the length is more than 4 GiB. */
bool adv_nvme_get_log_decode(const struct adv_nvme_command *command, struct adv_nvme_get_log *log);
void adv_nvme_get_log_encode(const struct adv_nvme_get_log *log, struct adv_nvme_command *command);

enum adv_nvme_feature {
	ADV_NVME_FEATURE_ARBITRATION = 0x01,
	ADV_NVME_FEATURE_POWER = 0x02,
	ADV_NVME_FEATURE_TEMPERATURE = 0x04,
	ADV_NVME_FEATURE_ERROR_RECOVERY = 0x05,
	ADV_NVME_FEATURE_WRITE_CACHE = 0x06,
	ADV_NVME_FEATURE_QUEUES = 0x07,
	ADV_NVME_FEATURE_WRITE_ATOMICITY = 0x0a,
	ADV_NVME_FEATURE_ASYNC_EVENTS = 0x0b,
	ADV_NVME_FEATURE_KEEP_ALIVE = 0x0f,
	ADV_NVME_FEATURE_HOST_ID = 0x81,
};

/* Results of an asynchronous event: type, information and log page (section 5.2). */
#define ADV_NVME_EVENT_NAMESPACE 0x040002u /* notice, namespace attribute changed, log page 4 */
#define ADV_NVME_EVENT_DISCOVERY 0x70f002u /* notice, discovery log page changed, log page 70h */

/* An entry of the error log, 64 bytes. */
#define ADV_NVME_ERROR_LEN 64
struct adv_nvme_error {
	uint64_t count; /* number of the error since the controller exists; 0: no entry */
	uint16_t qid;
	uint16_t cid;
	uint16_t status;   /* enum adv_nvme_status with ADV_NVME_DNR */
	uint16_t location; /* byte of the command; 0xffff: not of one field */
	uint64_t lba;
	uint32_t nsid;
};

void adv_nvme_error_encode(const struct adv_nvme_error *e, uint8_t out[ADV_NVME_ERROR_LEN]);
void adv_nvme_error_decode(const uint8_t in[ADV_NVME_ERROR_LEN], struct adv_nvme_error *e);

/* The SMART log, 512 bytes. */
#define ADV_NVME_SMART_LEN 512
struct adv_nvme_smart {
	uint8_t critical_warning;
	uint16_t temperature;		      /* K */
	uint8_t spare, spare_threshold, used; /* percent */
	uint64_t units_read, units_written;   /* thousands of 512 bytes, rounded up */
	uint64_t reads, writes;		      /* commands */
	uint64_t busy_minutes, power_cycles, power_on_hours;
	uint64_t unsafe_shutdowns, media_errors, error_entries;
};

void adv_nvme_smart_encode(const struct adv_nvme_smart *s, uint8_t out[ADV_NVME_SMART_LEN]);
void adv_nvme_smart_decode(const uint8_t in[ADV_NVME_SMART_LEN], struct adv_nvme_smart *s);

#define ADV_NVME_FIRMWARE_LOG_LEN 512
#define ADV_NVME_CHANGED_LEN	  4096

/* The log of asymmetric namespace access (ANA) with one group (section 5.14.1.12). */
#define ADV_NVME_ANA_HEADER	16
#define ADV_NVME_ANA_GROUP_LEN	32
#define ADV_NVME_ANA_LEN(count) (ADV_NVME_ANA_HEADER + ADV_NVME_ANA_GROUP_LEN + 4 * (size_t)(count))

enum adv_nvme_ana_state { ADV_NVME_ANA_OPTIMIZED = 1 };

struct adv_nvme_ana_group {
	uint32_t id;
	uint8_t state;
	uint32_t count; /* of nsids */
	const uint32_t *nsids;
};

/* Writes ADV_NVME_ANA_LEN(group->count) bytes. */
void adv_nvme_ana_encode(const struct adv_nvme_ana_group *group, uint8_t *out);

/* The discovery log: a header and entries, of 1,024 bytes each. */
#define ADV_NVME_DISCOVERY_LEN 1024
#define ADV_NVME_TRADDR_LEN    256
#define ADV_NVME_TRSVCID_LEN   32

enum adv_nvme_transport { ADV_NVME_TRANSPORT_RDMA = 1 };
enum adv_nvme_subsystem_type { ADV_NVME_SUBTYPE_REFERRAL = 1, ADV_NVME_SUBTYPE_NVM = 2 };
enum adv_nvme_address_family { ADV_NVME_IPV4 = 1, ADV_NVME_IPV6 = 2 };
enum adv_nvme_rdma_cms { ADV_NVME_RDMA_CM = 1 };

struct adv_nvme_discovery_header {
	uint64_t generation;
	uint64_t records;
};

struct adv_nvme_discovery_entry {
	uint8_t trtype, adrfam, subtype;
	uint8_t treq; /* 2: secure channel not required */
	uint16_t portid;
	uint16_t cntlid;
	uint16_t asqsz;
	char trsvcid[ADV_NVME_TRSVCID_LEN + 1];
	char subnqn[ADV_NVME_NQN_LEN];
	char traddr[ADV_NVME_TRADDR_LEN + 1];
	uint8_t rdma_qptype; /* 1: reliable connected */
	uint8_t rdma_prtype; /* 1: not specified; 4: RoCE v2 */
	uint8_t rdma_cms;
};

void adv_nvme_discovery_header_encode(const struct adv_nvme_discovery_header *h,
				      uint8_t out[ADV_NVME_DISCOVERY_LEN]);
/* False: the record format is unknown. */
bool adv_nvme_discovery_header_decode(const uint8_t in[ADV_NVME_DISCOVERY_LEN],
				      struct adv_nvme_discovery_header *h);
void adv_nvme_discovery_entry_encode(const struct adv_nvme_discovery_entry *e,
				     uint8_t out[ADV_NVME_DISCOVERY_LEN]);
void adv_nvme_discovery_entry_decode(const uint8_t in[ADV_NVME_DISCOVERY_LEN],
				     struct adv_nvme_discovery_entry *e);

#endif
