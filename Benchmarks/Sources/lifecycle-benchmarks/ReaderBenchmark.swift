import Foundation
import ReaderUnderTest

/// The JSON reader against Foundation's, on the same members of the same event.
struct ReaderBenchmark {
    private struct Event: Decodable {
        struct Content: Decodable {
            struct Subscription: Decodable {
                var id: String
                var status: String
                var customer: String
                var start_date: Int64
            }
            var object: Subscription
        }
        var id: String
        var type: String
        var created: Int64
        var livemode: Bool
        var data: Content
    }

    func run() async throws {
        let body = try Subjects.fixture("customer.subscription.updated")
        let data = Data(body)
        Table.title(
            "JSON, \(body.count) bytes, eight members read; floor: checked and indexed alone; peer: JSONDecoder"
        )
        let read = Work {
            let event = try ObjectReader(parsing: body)
            let object = try ObjectReader(ObjectReader(event.value("data")).value("object"))
            _ = try (event.string("id"), event.string("type"), event.int64("created"), event.optionalBool("livemode"))
            _ = try (
                object.string("id"), object.string("status"), object.string("customer"), object.int64("start_date")
            )
        }
        let decoder = JSONDecoder()
        let measured = try await Measurement(
            iterations: 200,
            [
                read, Work { _ = try JSONDocument(parsing: body) },
                Work { _ = try decoder.decode(Event.self, from: data) },
            ]
        )
        Table.row(
            "parsed and read",
            ours: microseconds(measured.median(0)),
            floor: microseconds(measured.median(1)),
            timesFloor: measured.ratio(0, to: 1),
            peer: microseconds(measured.median(2)),
            timesPeer: measured.ratio(2, to: 0),
            allocations: try await Measurement.allocations(read)
        )
    }
}
