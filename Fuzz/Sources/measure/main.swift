import FuzzDriver

if let folder = Driver.option("seeds") { try Driver.writeSeeds(to: folder) }
if let folder = Driver.option("measure") { try Driver.measure(folder) }
